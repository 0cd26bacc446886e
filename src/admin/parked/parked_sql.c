#include "admin/parked/parked_sql.h"

#include "admin/admin_session.h"
#include "message/declined.h"
#include "route/match.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <string.h>

/* ---- facts ---- */

/* {shown_key} and so on: a value of a parked row as text. */
static int put_shown(FILE *out, const void *about, const struct sql_fact *fact)
{
    const struct parked_statement *statement = about;
    const char *column = fact->name + strlen("shown_");
    bool is_always = strcmp(column, "id") == 0 || strcmp(column, "event_id") == 0 ||
                     strcmp(column, "error") == 0;

    if (statement->detail == PARKED_WHOLE)
        return fprintf(out, "%s::text", column) < 0 ? -1 : 0;
    if (statement->detail == PARKED_LEFT_OUT && !is_always)
        return fputs("NULL::text", out) < 0 ? -1 : 0;
    return fprintf(out, "encode(convert_to(%s::text, getdatabaseencoding()), 'escape')", column) < 0
               ? -1
               : 0;
}

static int put_payload_bytes(FILE *out, const void *about)
{
    const struct parked_statement *statement = about;
    const char *bytes =
        statement->payload_is_bytea ? "octet_length(payload)" : "octet_length(payload::text)";

    return fputs(statement->detail == PARKED_LEFT_OUT ? "NULL::bigint" : bytes, out) < 0 ? -1 : 0;
}

char *parked_sql(const struct parked_statement *statement, const struct table_facts *about)
{
    const struct sql_facts tables = table_facts(about);
    char page_rows[16];
    struct sql_fact facts[40] = {
        {"done", .text = statement->done},
        {"is_declined", .text = "(state = 'waiting' AND waits_for LIKE '" DECLINED_PREFIX "%')"},
        {"page_rows", .text = page_rows},
        {"looked_rows", .text = FACT_NUMBER(REPLAY_LOOKED_ROWS)},
        {"payload_max", .text = FACT_NUMBER(PARKED_PAYLOAD_MAX)},
        {"shown_id", .put_named = put_shown},
        {"shown_event_id", .put_named = put_shown},
        {"shown_topic", .put_named = put_shown},
        {"shown_key", .put_named = put_shown},
        {"shown_type", .put_named = put_shown},
        {"shown_error", .put_named = put_shown},
        {"shown_created_at", .put_named = put_shown},
        {"shown_headers", .put_named = put_shown},
        {"shown_raw", .put_named = put_shown},
        {"shown_payload", .put_named = put_shown},
        {"payload_bytes", .put = put_payload_bytes},
    };
    const struct sql_truth given[] = {
        {"by_id", statement->by_id},
        {"by_topic", statement->by_topic},
        {"as_json", statement->as_json},
        {"shown", statement->shown},
        {"newest_first", statement->newest_first},
        {"picks", statement->picks},
        {"drops", statement->drops},
        {"changed", statement->changed},
        {"would_change", statement->would_change},
        {"shows_bytes", statement->payload_is_bytea && statement->detail != PARKED_LEFT_OUT},
        {"whole", statement->detail == PARKED_WHOLE},
    };
    const struct sql_facts list = {
        .names = statement->facts, .list = facts, .about = statement, .more = &tables};
    size_t count = 0;

    while (facts[count].name != NULL)
        count++;
    (void)snprintf(page_rows, sizeof page_rows, "%d", statement->page_rows);
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i].is)
            facts[count++].name = given[i].name;
    return sql_render(statement->text, &list);
}

PGresult *parked_query(struct admin *admin, const char *statement, const char *facts,
                       int param_count, const char *const *params, struct error *error)
{
    char *sql = parked_sql(&(struct parked_statement){.text = statement, .facts = facts},
                           &(struct table_facts){&admin->table, admin->options});

    return admin_query_sql(admin, sql, param_count, params, error);
}

PGresult *parked_query_since(struct admin *admin, const char *statement, const char *since,
                             struct error *error)
{
    int64_t ago_ms = since != NULL ? text_parse_duration_ms(since) : -1;
    char ago[32];
    const char *params[2] = {ago_ms >= 0 ? ago : NULL, ago_ms >= 0 ? NULL : since};
    PGresult *result;

    (void)snprintf(ago, sizeof ago, "%" PRId64, ago_ms);
    result = parked_query(admin, statement, NULL, 2, params, error);
    if (result == NULL && since != NULL && error_is_sqlstate(error, "22"))
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                        "--since: not a duration or a timestamp: %s", since);
    return result;
}

/* ---- the choice ---- */

/* A change without --json returns no values, so that it cannot fail because of one. A row that
 * PostgreSQL refuses is still in the outbox, from where it would be sent again if its note were
 * dropped. A row that waits for a broker is sent once that has mended; one that waits for a
 * configuration may have a wrong topic, by which it is then named. */
struct parked_statement parked_statement(const struct parked_request *request)
{
    bool retries = request->verb == PARKED_RETRY;
    bool picks = retries || request->verb == PARKED_DROP;
    bool changes = !request->dry_run && picks;
    struct parked_statement statement = {
        .text = statement_dead_select,
        .done = retries ? "would retry" : "would drop",
        .by_id = request->id_count > 0,
        .by_topic = request->topic != NULL,
        .as_json = request->json,
        .shown = request->verb == PARKED_SHOW,
        .newest_first = request->verb == PARKED_LIST,
        .picks = picks,
        .drops = request->verb == PARKED_DROP,
        .changed = changes,
        .would_change = picks && request->json,
        .page_rows = PARKED_PAGE_ROWS,
    };

    if (changes) {
        statement.text = retries ? statement_dead_retry : statement_dead_drop;
        statement.done = retries ? "retried" : "dropped";
    }
    return statement;
}

/* ---- topics ---- */

static bool has_wildcard(const struct match *match)
{
    for (const char *token = match->source; *token != '\0' && !match->is_regex;) {
        size_t len = strcspn(token, ".");

        if (len == 1 && (*token == '*' || *token == '>'))
            return true;
        token += len + (token[len] == '.');
    }
    return false;
}

int parked_topic_regex(const char *topic, char **regex)
{
    struct match match;
    char why[128];
    bool wild;

    *regex = NULL;
    if (match_parse(&match, topic, why, sizeof why) < 0)
        return 0;
    wild = has_wildcard(&match);
    if (wild)
        *regex = match_sql_regex(&match);
    match_free(&match);
    return wild && *regex == NULL ? -1 : 0;
}
