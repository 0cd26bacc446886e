#include "admin/parked/parked_sql.h"

#include "admin/admin_session.h"
#include "catalog/schema.h"
#include "catalog/sql_text.h"
#include "message/declined.h"
#include "route/match.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

/* What the words of a statement are about. */
struct parked_words {
    const struct parked_statement *statement;
    const struct table_words *tables;
};

static const struct parked_statement *statement_of(const void *about)
{
    return ((const struct parked_words *)about)->statement;
}

static int put_number(FILE *out, const struct sql_call *call)
{
    bool looked = strcmp(call->word, "looked_rows") == 0;

    return fprintf(out, "%d", looked ? REPLAY_LOOKED_ROWS : statement_of(call->about)->page_rows) <
                   0
               ? -1
               : 0;
}

static const char *choose_chosen(const void *about)
{
    return statement_of(about)->by_id ? statement_chosen_by_id : statement_chosen_by_filter;
}

static const char *choose_row(const void *about)
{
    return statement_of(about)->row;
}

static const char *choose_is_choosable(const void *about)
{
    return statement_of(about)->choosable;
}

static const char *choose_done(const void *about)
{
    return statement_of(about)->done;
}

static const char *choose_direction(const void *about)
{
    return statement_of(about)->descends ? "DESC" : "ASC";
}

static const char *choose_row_lock(const void *about)
{
    return statement_of(about)->locks ? "\nFOR UPDATE" : "";
}

static const char *choose_sure_text(const void *about)
{
    return statement_of(about)->detail == PARKED_WHOLE
               ? "{argument}::text"
               : "encode(convert_to({argument}::text, getdatabaseencoding()), 'escape')";
}

static const char *choose_text(const void *about)
{
    return statement_of(about)->detail == PARKED_LEFT_OUT ? "NULL::text" : choose_sure_text(about);
}

/* The value itself, which becomes JSON, if PostgreSQL can return it. */
static const char *choose_value(const void *about)
{
    return statement_of(about)->detail == PARKED_WHOLE ? "{argument}" : choose_text(about);
}

static const char *choose_payload_bytes(const void *about)
{
    if (statement_of(about)->detail == PARKED_LEFT_OUT)
        return "NULL::bigint";
    return statement_of(about)->payload_is_bytea ? "octet_length(payload)"
                                                 : "octet_length(payload::text)";
}

static const char *choose_payload_start(const void *about)
{
    return statement_of(about)->payload_is_bytea && statement_of(about)->detail != PARKED_LEFT_OUT
               ? "substring(payload FROM 1 FOR {payload_max})"
               : "left({text:payload}, {payload_max})";
}

static int put_payload_max(FILE *out, const struct sql_call *call)
{
    (void)call;
    return fprintf(out, "%d", PARKED_PAYLOAD_MAX) < 0 ? -1 : 0;
}

/* A uuid is compared in PostgreSQL's spelling, which is lower case; any other id literally. */
static int put_word_as(FILE *out, const struct sql_call *call)
{
    const struct parked_words *words = call->about;
    enum column column = strcmp(call->argument, "id") == 0 ? COLUMN_ID : COLUMN_EVENT_ID;
    bool uuid = strcmp(schema_type(words->tables->table, column), "uuid") == 0;

    return fputs(uuid ? "lower(relay_word)" : "relay_word", out) < 0 ? -1 : 0;
}

static const char *choose_replay_is_tried(const void *about)
{
    const struct table_words *tables = ((const struct parked_words *)about)->tables;

    return sql_keeps_order(tables->table, tables->options) ? statement_replay_is_tried : "true";
}

/* Any number of rows can be shown. */
static const char *choose_is_one_asked(const void *about)
{
    return statement_of(about)->shows ? "false" : "true";
}

/* By [outbox] park the row itself is in the outbox, where its owner may have corrected it. */
static const char *choose_retried_raw(const void *about)
{
    const struct parked_words *words = about;

    return words->tables->table->park != NULL ? statement_retried_raw : "";
}

static const struct sql_word words[] = {
    {"chosen", .choose = choose_chosen},
    {"row", .choose = choose_row},
    {"is_choosable", .choose = choose_is_choosable},
    {"done", .choose = choose_done},
    {"direction", .choose = choose_direction},
    {"row_lock", .choose = choose_row_lock},
    {"page_rows", .put = put_number},
    {"sure_text", .choose = choose_sure_text},
    {"text", .choose = choose_text},
    {"value", .choose = choose_value},
    {"payload_bytes", .choose = choose_payload_bytes},
    {"payload_start", .choose = choose_payload_start},
    {"payload_max", .put = put_payload_max},
    {"parked_state_in_words", .text = statement_parked_state_in_words},
    {"word_as", .put = put_word_as},
    {"is_one_asked", .choose = choose_is_one_asked},
    {"several_hits", .text = statement_several_hits},
    {"event_of_reused",
     .text = "CASE WHEN {id} IN (SELECT id FROM {parked} WHERE {is_parked_sent}) THEN"
             " {event_id}::text END"},
    {"row_key", .text = "({id}::text || ' ' || {identity})"},
    {"parked_row_key", .text = "(id::text || ' ' || coalesce(identity, '@' || seq))"},
    {"is_declined", .text = "(state = 'waiting' AND waits_for LIKE '" DECLINED_PREFIX "%')"},
    {"retried_raw", .choose = choose_retried_raw},
    {"missing_as_text", .text = statement_missing_as_text},
    {"since", .text = statement_since},
    {"looked_rows", .put = put_number},
    {"replay_chosen", .text = statement_replay_chosen},
    {"replay_places", .text = statement_replay_places},
    {"replay_is_tried", .choose = choose_replay_is_tried},
    {"is_replayed", .text = statement_is_replayed},
    {"is_parked_sent", .text = "sent_at IS NOT NULL AND replayed_at IS NULL"}, /* a copy is none */
    {.name = NULL},
};

char *parked_sql(const struct parked_statement *statement, const struct table_words *about)
{
    const struct parked_words parked = {.statement = statement, .tables = about};
    const struct sql_words tables = table_words(about);
    const struct sql_words list = {.list = words, .about = &parked, .more = &tables};

    return sql_render(statement->text, &list);
}

PGresult *parked_query(struct admin *admin, const char *statement, int param_count,
                       const char *const *params, struct error *error)
{
    char *sql = parked_sql(&(struct parked_statement){.text = statement},
                           &(struct table_words){&admin->table, admin->options});

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
    result = parked_query(admin, statement, 2, params, error);
    if (result == NULL && since != NULL && error_is_sqlstate(error, "22"))
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                        "--since: not a duration or a timestamp: %s", since);
    return result;
}

/* ---- the choice ---- */

/* A change without --json returns no values, so that it cannot fail because of one. */
static const char *row_of(const struct parked_request *request, bool changes)
{
    if (request->verb == PARKED_SHOW)
        return request->json ? statement_row_shown_json : statement_row_shown;
    if (request->verb == PARKED_LIST)
        return request->json ? statement_row_listed_json : statement_row_listed;
    if (request->json)
        return statement_row_changed_json;
    return changes ? "seq" : statement_row_listed;
}

/* A row that PostgreSQL refuses is still in the outbox, from where it would be sent again if its
 * note were dropped. A row that waits for a broker is sent once that has mended; one that waits for
 * a configuration may have a wrong topic, by which it is then named. */
static const char *choosable(const struct parked_request *request)
{
    if (request->verb != PARKED_RETRY && request->verb != PARKED_DROP)
        return "true";
    if (request->id_count > 0)
        return request->verb == PARKED_RETRY ? "true" : "NOT {is_note}";
    return request->topic != NULL ? "(state = 'dead' OR {is_declined})" : "state = 'dead'";
}

struct parked_statement parked_statement(const struct parked_request *request)
{
    bool retries = request->verb == PARKED_RETRY;
    bool changes = !request->dry_run && (retries || request->verb == PARKED_DROP);
    struct parked_statement statement = {
        .text = statement_dead_select,
        .by_id = request->id_count > 0,
        .row = row_of(request, changes),
        .choosable = choosable(request),
        .done = retries ? "would retry" : "would drop",
        .shows = request->verb == PARKED_SHOW,
        .locks = changes,
        .descends = request->verb == PARKED_LIST,
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
