/*
 * check, the database's part: one finding for each thing that is wrong or weak, each with the SQL
 * that mends it. It goes on after a finding, so that one run shows everything.
 */
#include "admin/admin_session.h"

#include "catalog/adoption.h"
#include "catalog/columns.h"
#include "catalog/filter.h"
#include "catalog/values.h"
#include "catalog/notify.h"
#include "catalog/parked_table.h"
#include "catalog/schema.h"
#include "catalog/sequence.h"
#include "catalog/slice_table.h"
#include "catalog/sql_text.h"
#include "pg/server.h"
#include "sql/statements.h"

#include <stdio.h>
#include <string.h>

struct privilege {
    const char *table;  /* quoted; NULL: it does not exist */
    const char *what;   /* as in GRANT */
    const char *column; /* NULL: the whole table */
};

/* The role of this session, for the SQL of a fix. */
static const char *quote_role(const struct admin *admin, char quoted[QUOTED_BYTES_MAX])
{
    table_quote(&admin->session, session_role(&admin->session), quoted);
    return quoted;
}

static void inspect_server(struct admin *admin, struct findings *findings)
{
    int version = session_server_version(&admin->session);

    if (version < 130000)
        (void)findings_add(findings, FINDING_ERROR, "PostgreSQL %d is older than 13",
                           version / 10000);
    else
        (void)findings_add(findings, FINDING_OK,
                           "connected to PostgreSQL %d.%d, database \"%s\", role \"%s\"",
                           version / 10000, version % 10000, session_database(&admin->session),
                           session_role(&admin->session));
    if (admin->session.is_pooled)
        (void)findings_add(findings, FINDING_OK,
                           "the connection goes through a connection pooler in session mode");
}

/* The relay's sessions speak UTF-8, which has all of LATIN1; SQL_ASCII holds any bytes. */
static void inspect_encoding(struct admin *admin, struct findings *findings)
{
    static const char *const sure[] = {"UTF8", "LATIN1"};
    const char *encoding = session_encoding(&admin->session);

    for (size_t i = 0; i < sizeof sure / sizeof *sure; i++)
        if (strcmp(encoding, sure[i]) == 0)
            return;
    (void)findings_add(findings, FINDING_WARNING,
                       "database \"%s\" has the encoding %s: a row that holds bytes without an"
                       " equivalent in UTF-8 cannot be sent, and is parked as dead",
                       session_database(&admin->session), encoding);
}

static int inspect_role(struct admin *admin, struct findings *findings, struct error *error)
{
    int64_t flags = admin_number(admin, statement_inspect_role, 0, NULL, error);
    struct error problem;

    if (flags < 0)
        return -1;
    if (flags == 0)
        return 0;
    if (flags % 2 == 1 && !admin->options->allow_superuser) {
        (void)server_refuse_superuser(&admin->session, &problem);
        findings_add_error(findings, &problem);
        return 0;
    }
    finding_fix(findings_add(
                    findings, FINDING_WARNING, "role \"%s\" %s; a restricted role can do less harm",
                    session_role(&admin->session),
                    flags % 2 == 1 ? "is a superuser, or may become one" : "owns the table"),
                "as a superuser: CREATE ROLE relay LOGIN; then: outbox-relay init --grant relay"
                " | psql %s; then connect as relay",
                session_database(&admin->session));
    return 0;
}

/* Whether there is more to look at. */
static bool inspect_table(struct admin *admin, struct findings *findings)
{
    const struct table *table = &admin->table;
    struct error problem;

    if (!table->exists) {
        (void)table_refuse_missing(table, &problem);
        finding_fix(findings_add(findings, FINDING_ERROR, "%s (in database \"%s\", as role \"%s\")",
                                 problem.text, session_database(&admin->session),
                                 session_role(&admin->session)),
                    "%s", problem.hint);
        return false;
    }
    if (table_plain(table, &problem) < 0) {
        (void)findings_add(findings, FINDING_ERROR, "%s", problem.text);
        return false;
    }
    (void)findings_add(findings, FINDING_OK, "table %s", table->quoted);
    if (admin->options->on_sent == ON_SENT_DELETE)
        finding_fix(findings_add(findings, FINDING_OK,
                                 "on_sent = \"delete\" leaves nothing to audit, and nothing to"
                                 " send again if a broker loses what it has acknowledged"),
                    "[outbox] on_sent = \"mark\", with a retention, keeps sent rows for that");
    return true;
}

void admin_inspect_columns(struct admin *admin, struct findings *findings)
{
    struct error not_plain;

    if (admin->table.exists && table_plain(&admin->table, &not_plain) == 0)
        columns_inspect(&admin->table, admin->options, findings);
}

static void inspect_columns(struct admin *admin, struct findings *findings)
{
    const struct table_column *event_id = &admin->table.columns[COLUMN_EVENT_ID];
    struct error unknown;

    columns_inspect(&admin->table, admin->options, findings);
    values_inspect_headers(&admin->table, findings);
    if (admin->options->on_sent == ON_SENT_DELETE && table_has(&admin->table, COLUMN_SENT_AT))
        (void)findings_add(findings, FINDING_WARNING,
                           "rows whose %s is set count as sent, although on_sent is \"delete\"",
                           admin->table.columns[COLUMN_SENT_AT].quoted);
    if (admin->options->on_sent == ON_SENT_MARK && table_check_sent(&admin->table, &unknown) < 0)
        finding_fix(findings_add(findings,
                                 table_has(&admin->table, COLUMN_SENT_AT) &&
                                         admin->options->retention_ms > 0
                                     ? FINDING_WARNING
                                     : FINDING_OK,
                                 "%s", unknown.text),
                    "%s", unknown.hint);
    if (admin->table.called[0] != '\0')
        (void)findings_add(findings, FINDING_OK, "with the rights of the relay, %s",
                           admin->table.called);
    if (admin->table.where_clock[0] != '\0')
        finding_fix(findings_add(findings, FINDING_WARNING,
                                 "[outbox] where %s, which reads the clock: a row that is outside"
                                 " `where` when it is inserted is never sent",
                                 admin->table.where_clock),
                    "name the time before which a row is not sent in [outbox] due");
    if (!table_has(&admin->table, COLUMN_EVENT_ID) || event_id->unique ||
        event_id->expression != NULL)
        return;
    finding_fix(
        findings_add(
            findings, FINDING_WARNING,
            "nothing keeps %s distinct: consumers and JetStream drop a second event with the"
            " same id; harmless while every id is a fresh UUID (an index costs each insert)",
            event_id->quoted),
        "CREATE UNIQUE INDEX CONCURRENTLY ON %s (%s);", admin->table.quoted, event_id->quoted);
}

/* Bounds go by ids, and so do an operator's commands. */
static void inspect_ids(struct admin *admin, struct findings *findings)
{
    const struct table *table = &admin->table;
    const struct table_column *id = &table->columns[COLUMN_ID];

    if (table_has(table, COLUMN_ID) && !id->unique)
        finding_fix(
            findings_add(findings, FINDING_WARNING,
                         "nothing keeps the ids in column %s of %s distinct: rows that share"
                         " one may be sent late and out of order",
                         id->quoted, table->quoted),
            "CREATE UNIQUE INDEX CONCURRENTLY ON %s (%s);", table->quoted, id->quoted);
}

/* A session that draws ids ahead inserts a later event of a key with a lower one. */
static void inspect_draws(struct admin *admin, struct findings *findings,
                          const struct sequence *sequence)
{
    const char *id = admin->table.columns[COLUMN_ID].quoted;

    if (admin->options->order == ORDER_KEY && (sequence->cache > 1 || sequence->increment < 0))
        finding_fix(findings_add(findings, FINDING_WARNING,
                                 "the ids in column %s of %s do not grow in the order of insertion:"
                                 " sequence %s has CACHE %lld, INCREMENT %lld",
                                 id, admin->table.quoted, sequence->quoted,
                                 (long long)sequence->cache, (long long)sequence->increment),
                    "ALTER SEQUENCE %s INCREMENT 1 CACHE 1;", sequence->quoted);
    if (sequence->cycles)
        finding_fix(
            findings_add(findings, FINDING_WARNING,
                         "sequence %s has CYCLE: rows with ids that begin anew are sent before"
                         " older ones",
                         sequence->quoted),
            "ALTER SEQUENCE %s NO CYCLE;", sequence->quoted);
}

/* The horizon goes by the highest id drawn (docs/internals/horizon.md). */
static int inspect_sequence(struct admin *admin, struct findings *findings, struct error *error)
{
    const char *id = admin->table.columns[COLUMN_ID].quoted;
    char role[QUOTED_BYTES_MAX];
    struct sequence sequence;

    if (!table_has_integer_ids(&admin->table))
        return 0;
    if (sequence_describe(&sequence, &admin->session, &admin->table, error) < 0)
        return -1;
    if (sequence.quoted[0] == '\0') {
        (void)findings_add(findings, FINDING_WARNING,
                           "the ids in column %s of %s come from no sequence of the column: the"
                           " relay goes by the highest id that it has claimed, and a row with a"
                           " lower one that is committed later is sent late, within a minute",
                           id, admin->table.quoted);
        return 0;
    }
    if (!sequence.readable)
        finding_fix(
            findings_add(findings, FINDING_WARNING,
                         "missing privilege: SELECT on sequence %s for role \"%s\": the relay"
                         " goes by the highest id that it has claimed instead",
                         sequence.quoted, session_role(&admin->session)),
            "GRANT SELECT ON SEQUENCE %s TO %s;", sequence.quoted, quote_role(admin, role));
    inspect_draws(admin, findings, &sequence);
    return 0;
}

static void inspect_index(struct admin *admin, struct findings *findings)
{
    struct finding *finding;

    if (admin->table.has_claim_index || admin->options->order == ORDER_KEY ||
        admin->table.sql_problem[0] != '\0')
        return;
    finding = findings_add(findings, FINDING_WARNING,
                           "table %s has no index over its unsent rows%s by %s: claims"
                           " will be slow",
                           admin->table.quoted,
                           admin->table.where != NULL ? " within [outbox] where" : "",
                           admin->table.columns[COLUMN_ID].quoted);
    schema_index_fix(&admin->table, admin->options, finding->fix, sizeof finding->fix);
}

static int inspect_row_security(struct admin *admin, struct findings *findings, struct error *error)
{
    const char *params[1] = {admin->table.quoted};
    char role[QUOTED_BYTES_MAX];
    int64_t active =
        admin_number(admin, "SELECT pg_catalog.row_security_active($1::pg_catalog.regclass)::int",
                     1, params, error);

    if (active < 0)
        return -1;
    if (active == 0)
        return 0;
    finding_fix(findings_add(findings, FINDING_ERROR,
                             "row-level security hides rows of %s from role \"%s\"",
                             admin->table.quoted, session_role(&admin->session)),
                "ALTER ROLE %s BYPASSRLS;", quote_role(admin, role));
    return 0;
}

static int inspect_privilege(struct admin *admin, struct findings *findings,
                             const struct privilege *needed, struct error *error)
{
    const char *params[3] = {needed->table, needed->what, needed->column};
    bool whole = needed->column == NULL;
    char quoted[QUOTED_BYTES_MAX] = "";
    char role[QUOTED_BYTES_MAX];
    int64_t held = admin_number(admin,
                                whole ? "SELECT pg_catalog.has_table_privilege($1, $2)::int"
                                      : "SELECT pg_catalog.has_column_privilege($1, $3, $2)::int",
                                whole ? 2 : 3, params, error);

    if (held != 0)
        return held < 0 ? -1 : 0;
    if (!whole)
        table_quote(&admin->session, needed->column, quoted);
    finding_fix(findings_add(findings, FINDING_ERROR,
                             "missing privilege: %s%s%s%s on %s for role \"%s\"", needed->what,
                             whole ? "" : "(", whole ? "" : needed->column, whole ? "" : ")",
                             needed->table, session_role(&admin->session)),
                "GRANT %s%s%s%s ON %s TO %s;", needed->what, whole ? "" : " (", quoted,
                whole ? "" : ")", needed->table, quote_role(admin, role));
    return 0;
}

/* Before it publishes, `run` makes sure which cluster it is connected to. */
static int inspect_identity(struct admin *admin, struct findings *findings, struct error *error)
{
    const char *role = session_role(&admin->session);
    char quoted[QUOTED_BYTES_MAX];
    int64_t held = admin_number(
        admin, "SELECT pg_catalog.has_function_privilege(" IDENTITY_FUNCTION ", 'EXECUTE')::int", 0,
        NULL, error);

    if (held != 0)
        return held < 0 ? -1 : 0;
    finding_fix(findings_add(findings, FINDING_ERROR,
                             "missing privilege: EXECUTE on pg_catalog.pg_control_system() for role"
                             " \"%s\" (a superuser can grant it)",
                             role),
                "GRANT EXECUTE ON FUNCTION pg_catalog.pg_control_system() TO %s;",
                quote_role(admin, quoted));
    return 0;
}

static int inspect_privileges(struct admin *admin, struct findings *findings, struct error *error)
{
    const struct table *table = &admin->table;
    bool mark = admin->options->on_sent == ON_SENT_MARK;
    bool can_settle = !mark || table_is_marked_by_time(table); /* a list is tried */
    const char *parked = table->parked_exists ? table->parked_quoted : NULL;
    const char *control = table->control_exists ? table->control_quoted : NULL;
    const char *slice = table->slice_exists ? table->slice_quoted : NULL;
    const struct privilege needed[] = {
        {table->quoted, "SELECT", NULL},
        {can_settle ? table->quoted : NULL, "UPDATE",
         table->columns[mark ? COLUMN_SENT_AT : COLUMN_ID].name},
        {schema_needs_delete(table, admin->options) ? table->quoted : NULL, "DELETE", NULL},
        {parked, "SELECT", NULL},
        {parked, "INSERT", NULL},
        {parked, "UPDATE", NULL},
        {parked, "DELETE", NULL},
        {control, "SELECT", NULL},
        {control, "INSERT", NULL},
        {control, "DELETE", NULL},
        {slice, "SELECT", NULL},
        {slice, "UPDATE", "slices"},
    };

    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (needed[i].table != NULL && inspect_privilege(admin, findings, &needed[i], error) < 0)
            return -1;
    return 0;
}

/* An index that no claim goes by costs each insert. */
static int inspect_stale(struct admin *admin, struct findings *findings, struct error *error)
{
    struct writer writer;
    char *drops;
    int status;

    if (!writer_begin(&writer))
        return error_no_memory(error);
    status = slices_put_drops(writer.out, SLICES_UNUSED, &admin->table, &admin->session,
                              admin->options, error);
    drops = writer_end(&writer);
    if (status == 0 && drops != NULL && drops[0] != '\0')
        finding_fix(
            findings_add(findings, FINDING_WARNING,
                         "table %s has an index by slices that no relay with this configuration"
                         " uses: it has a different number of slices or a different condition, or"
                         " it is not valid",
                         admin->table.quoted),
            "%.*s", (int)strlen(drops) - 1, drops);
    free(drops);
    return status;
}

static int inspect_unordered(struct admin *admin, struct findings *findings, struct error *error)
{
    const struct table *table = &admin->table;
    const char *params[2] = {table->columns[COLUMN_ID].name, table->columns[COLUMN_SENT_AT].name};
    PGresult *result = admin_query(admin, statement_unordered_indexes, 2, params, error);

    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++) {
        const char *index = PQgetvalue(result, row, 0);
        finding_fix(
            findings_add(findings, FINDING_WARNING,
                         "index %s serves order = \"none\" only, and each insert pays for it",
                         index),
            "DROP INDEX CONCURRENTLY %s;", index);
    }
    PQclear(result);
    return 0;
}

static int inspect_slices(struct admin *admin, struct findings *findings, struct error *error)
{
    const struct table *table = &admin->table;
    int before = findings->count;

    if (admin->options->order != ORDER_KEY)
        return 0;
    slices_inspect(table, admin->options, findings);
    if (findings->count > before)
        return 0;
    (void)findings_add(findings, FINDING_OK, "table %s: %d slices", table->slice_quoted,
                       table->slices);
    if (inspect_stale(admin, findings, error) < 0 ||
        (table_has(table, COLUMN_SENT_AT) && inspect_unordered(admin, findings, error) < 0))
        return -1;
    return 0;
}

static void add_not_found(struct findings *findings, const char *quoted)
{
    finding_fix(findings_add(findings, FINDING_ERROR, "table %s not found", quoted),
                "outbox-relay init");
}

static int inspect_parked(struct admin *admin, struct findings *findings, struct error *error)
{
    if (!admin->table.control_exists)
        add_not_found(findings, admin->table.control_quoted);
    if (admin->table.parked_exists)
        return parked_inspect(&admin->table, &admin->session, findings, error);
    add_not_found(findings, admin->table.parked_quoted);
    return 0;
}

/* What only a table that fits can be asked. */
static int inspect_adoption(struct admin *admin, struct findings *findings, struct error *error)
{
    struct adoption adoption;
    struct error problem;

    if (!table_has_needed(&admin->table, admin->options) || admin->table.sql_problem[0] != '\0')
        return 0;
    if (adoption_examine(&adoption, &admin->table, &admin->session, admin->options, error) < 0)
        return findings_have_error(findings) ? 0
                                             : -1; /* it is what keeps the table from being asked */
    if (adoption.state != ADOPTION_OPEN && adoption.state != ADOPTION_CONDITION)
        return 0;
    (void)adoption_explain(&adoption, &admin->table, admin->options, &problem);
    if (adoption.state == ADOPTION_OPEN && admin->options->adopt) {
        (void)findings_add(findings, FINDING_WARNING, "%s ([outbox] adopt is true)", problem.text);
        return 0;
    }
    findings_add_error(findings, &problem);
    return 0;
}

static int inspect_notify(struct admin *admin, struct findings *findings, struct error *error)
{
    struct notify notify;
    struct finding *finding;
    struct error problem;

    if (notify_describe(&notify, &admin->session, &admin->table, error) < 0)
        return -1;
    if (notify_refuse_foreign(&notify, &admin->session, &admin->table, &problem) < 0) {
        findings_add_error(findings, &problem);
        return 0;
    }
    if (notify.fires) {
        (void)findings_add(findings, FINDING_OK, "inserts wake idle relays (trigger \"%s\")",
                           notify.name);
        return notify_inspect_lock(&notify, &admin->session, findings, error);
    }
    finding = findings_add(findings, FINDING_OK, "%s: idle relays find new rows by polling",
                           notify.exists ? "the trigger that notifies is disabled"
                                         : "no trigger notifies of inserts");
    if (notify.exists)
        finding_fix(finding, "ALTER TABLE %s ENABLE TRIGGER %s;", admin->table.quoted,
                    admin->table.notify_quoted);
    else
        finding_fix(finding, "outbox-relay init --notify");
    return 0;
}

/* With target_session_attrs=any in the url; by default the connection has failed already. */
static int inspect_read_only(struct admin *admin, struct findings *findings, struct error *error)
{
    int64_t read_only =
        admin_number(admin, "SELECT pg_catalog.current_setting('transaction_read_only')::bool::int",
                     0, NULL, error);
    struct error problem;

    if (read_only <= 0)
        return read_only < 0 ? -1 : 0;
    (void)server_refuse_read_only(&problem);
    findings_add_error(findings, &problem);
    return 0;
}

/* An UPDATE fires triggers, and those of the outbox's owner must not have a superuser's rights. */
static int try_lists(struct admin *admin, struct findings *findings, struct error *error)
{
    struct error refusal;

    if (server_check_role(&admin->session, admin->options->allow_superuser, &refusal) == 0)
        return values_try_lists(&admin->table, &admin->session, findings, error);
    if (refusal.kind == ERROR_PERMANENT)
        return 0;
    *error = refusal;
    return -1;
}

static int warn_of_losses(struct admin *admin, struct findings *findings, struct error *error)
{
    struct sink_losses losses;

    return inspect_losses(admin, FINDING_WARNING, findings, &losses, error);
}

static int inspect_all(struct admin *admin, struct findings *findings, struct error *error)
{
    struct error problem;

    inspect_server(admin, findings);
    inspect_encoding(admin, findings);
    if (inspect_read_only(admin, findings, error) < 0 || inspect_role(admin, findings, error) < 0 ||
        inspect_identity(admin, findings, error) < 0)
        return -1;
    if (!inspect_table(admin, findings))
        return 0;
    if (table_fits_preset(&admin->table, admin->options, &problem) < 0) {
        findings_add_error(findings, &problem);
        return 0;
    }
    if (filter_try_index(&admin->table, &admin->session, error) < 0 ||
        values_try_index(&admin->table, &admin->session, admin->options, error) < 0)
        return -1;
    if (admin->table.sql_problem[0] != '\0')
        (void)findings_add(findings, FINDING_ERROR, "%s", admin->table.sql_problem);
    inspect_columns(admin, findings);
    inspect_ids(admin, findings);
    inspect_index(admin, findings);
    if (inspect_slices(admin, findings, error) < 0 || inspect_parked(admin, findings, error) < 0 ||
        inspect_notify(admin, findings, error) < 0 || inspect_order(admin, findings, error) < 0 ||
        inspect_sequence(admin, findings, error) < 0 ||
        inspect_values(admin, findings, error) < 0 ||
        inspect_row_security(admin, findings, error) < 0 ||
        inspect_privileges(admin, findings, error) < 0 ||
        inspect_settle(admin, findings, error) < 0 || try_lists(admin, findings, error) < 0 ||
        inspect_cluster(admin, findings, error) < 0 || warn_of_losses(admin, findings, error) < 0)
        return -1;
    return inspect_adoption(admin, findings, error);
}

int admin_inspect(struct admin *admin, struct findings *findings, struct error *error)
{
    if (inspect_all(admin, findings, error) == 0)
        return 0;
    table_name_holders(&admin->table, &admin->session, error);
    return -1;
}

int admin_check_slices(const struct admin *admin, struct error *error)
{
    if (admin->options->order != ORDER_KEY || admin->table.slices != 0)
        return 0;
    return slices_check_number(&admin->table, admin->options, error);
}

/* ---- the topics of waiting rows ---- */

#define SAMPLE_ROWS 1000

static struct text copy_field(struct batch *batch, const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column))
        return (struct text){NULL, 0};
    return batch_copy(batch, PQgetvalue(result, row, column),
                      (size_t)PQgetlength(result, row, column));
}

int admin_sample(struct admin *admin, struct batch *batch, struct error *error)
{
    char unsent[16];
    char topics[16];
    const char *params[2] = {unsent, topics};
    PGresult *result;

    (void)snprintf(unsent, sizeof unsent, "%d",
                   admin->options->order == ORDER_KEY ? SAMPLE_ROWS / admin->options->slices + 1
                                                      : SAMPLE_ROWS);
    (void)snprintf(topics, sizeof topics, "%d", batch->capacity);
    result = admin_query(admin, statement_sample, 2, params, error);
    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++) {
        struct message *message = batch_add(batch);

        message->topic = copy_field(batch, result, row, 0);
        message->key = copy_field(batch, result, row, 1);
        message->type = copy_field(batch, result, row, 2);
        message->id = copy_field(batch, result, row, 3);
        message->event_id = copy_field(batch, result, row, 4);
    }
    PQclear(result);
    return 0;
}
