/*
 * check, the database's part: one finding for each thing that is wrong or weak, each with the SQL
 * that mends it. It goes on after a finding, so that one run shows everything.
 */
#include "admin/admin_session.h"

#include "admin/inspect_cluster.h"
#include "admin/inspect_settle.h"
#include "admin/inspect_slices.h"
#include "admin/inspect_values.h"
#include "catalog/adoption.h"
#include "catalog/columns.h"
#include "catalog/filter.h"
#include "catalog/notify.h"
#include "catalog/parked_table.h"
#include "catalog/schema.h"
#include "catalog/sequence.h"
#include "pg/server.h"
#include "sql/statements.h"

#include <stdio.h>
#include <string.h>

struct privilege {
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
    struct finding *finding;
    struct error problem;

    if (flags < 0)
        return -1;
    if (flags == 0)
        return 0;
    if (flags % 2 == 1 && !admin->options->allow_superuser) {
        (void)server_refuse_superuser(&admin->session, &problem);
        finding = findings_add(findings, FINDING_ERROR, "%s", problem.text);
        (void)snprintf(finding->fix, sizeof finding->fix, "%s", problem.hint);
        return 0;
    }
    finding = findings_add(findings, FINDING_WARNING,
                           "role \"%s\" %s; a restricted role can do less harm",
                           session_role(&admin->session),
                           flags % 2 == 1 ? "is a superuser, or may become one" : "owns the table");
    (void)snprintf(finding->fix, sizeof finding->fix,
                   "as a superuser: CREATE ROLE relay LOGIN; then: outbox-relay init --grant relay"
                   " | psql %s; then connect as relay",
                   session_database(&admin->session));
    return 0;
}

/* Whether there is more to look at. */
static bool inspect_table(struct admin *admin, struct findings *findings)
{
    const struct table *table = &admin->table;
    struct finding *finding;
    struct error problem;

    if (!table->exists) {
        (void)table_refuse_missing(table, &problem);
        finding = findings_add(findings, FINDING_ERROR, "%s (in database \"%s\", as role \"%s\")",
                               problem.text, session_database(&admin->session),
                               session_role(&admin->session));
        (void)snprintf(finding->fix, sizeof finding->fix, "%s", problem.hint);
        return false;
    }
    if (table_plain(table, &problem) < 0) {
        (void)findings_add(findings, FINDING_ERROR, "%s", problem.text);
        return false;
    }
    (void)findings_add(findings, FINDING_OK, "table %s", table->quoted);
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
    struct finding *finding;

    columns_inspect(&admin->table, admin->options, findings);
    if (admin->options->on_sent == ON_SENT_DELETE && table_has(&admin->table, COLUMN_SENT_AT))
        (void)findings_add(findings, FINDING_WARNING,
                           "rows whose %s is set count as sent, although on_sent is \"delete\"",
                           admin->table.columns[COLUMN_SENT_AT].quoted);
    if (!table_has(&admin->table, COLUMN_EVENT_ID) || event_id->unique)
        return;
    finding = findings_add(
        findings, FINDING_WARNING,
        "nothing keeps %s distinct: consumers and JetStream drop a second event with the"
        " same id; harmless while every id is a fresh UUID (an index costs each insert)",
        event_id->quoted);
    (void)snprintf(finding->fix, sizeof finding->fix,
                   "CREATE UNIQUE INDEX CONCURRENTLY ON %s (%s);", admin->table.quoted,
                   event_id->quoted);
}

/* Bounds go by ids, and so do an operator's commands. */
static void inspect_ids(struct admin *admin, struct findings *findings)
{
    const struct table *table = &admin->table;
    const struct table_column *id = &table->columns[COLUMN_ID];
    struct finding *finding;

    if (table_has(table, COLUMN_ID) && !id->unique) {
        finding = findings_add(findings, FINDING_WARNING,
                               "nothing keeps the ids in column %s of %s distinct: rows that share"
                               " one may be sent late and out of order",
                               id->quoted, table->quoted);
        (void)snprintf(finding->fix, sizeof finding->fix,
                       "CREATE UNIQUE INDEX CONCURRENTLY ON %s (%s);", table->quoted, id->quoted);
    }
}

/* A session that draws ids ahead inserts a later event of a key with a lower one. */
static void inspect_draws(struct admin *admin, struct findings *findings,
                          const struct sequence *sequence)
{
    const char *id = admin->table.columns[COLUMN_ID].quoted;
    struct finding *finding;

    if (admin->options->order == ORDER_KEY && (sequence->cache > 1 || sequence->increment < 0)) {
        finding = findings_add(findings, FINDING_WARNING,
                               "the ids in column %s of %s do not grow in the order of insertion:"
                               " sequence %s has CACHE %lld, INCREMENT %lld",
                               id, admin->table.quoted, sequence->quoted,
                               (long long)sequence->cache, (long long)sequence->increment);
        (void)snprintf(finding->fix, sizeof finding->fix, "ALTER SEQUENCE %s INCREMENT 1 CACHE 1;",
                       sequence->quoted);
    }
    if (sequence->cycles) {
        finding =
            findings_add(findings, FINDING_WARNING,
                         "sequence %s has CYCLE: rows with ids that begin anew are sent before"
                         " older ones",
                         sequence->quoted);
        (void)snprintf(finding->fix, sizeof finding->fix, "ALTER SEQUENCE %s NO CYCLE;",
                       sequence->quoted);
    }
}

/* The horizon goes by the highest id drawn (docs/horizon.md). */
static int inspect_sequence(struct admin *admin, struct findings *findings, struct error *error)
{
    const char *id = admin->table.columns[COLUMN_ID].quoted;
    char role[QUOTED_BYTES_MAX];
    struct sequence sequence;
    struct finding *finding;

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
    if (!sequence.readable) {
        finding = findings_add(findings, FINDING_WARNING,
                               "missing privilege: SELECT on sequence %s for role \"%s\": the relay"
                               " goes by the highest id that it has claimed instead",
                               sequence.quoted, session_role(&admin->session));
        (void)snprintf(finding->fix, sizeof finding->fix, "GRANT SELECT ON SEQUENCE %s TO %s;",
                       sequence.quoted, quote_role(admin, role));
    }
    inspect_draws(admin, findings, &sequence);
    return 0;
}

static void inspect_index(struct admin *admin, struct findings *findings)
{
    struct finding *finding;

    if (admin->table.has_claim_index || admin->options->order == ORDER_KEY ||
        admin->table.where_problem[0] != '\0')
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
    struct finding *finding;
    int64_t active =
        admin_number(admin, "SELECT pg_catalog.row_security_active($1::pg_catalog.regclass)::int",
                     1, params, error);

    if (active < 0)
        return -1;
    if (active == 0)
        return 0;
    finding = findings_add(findings, FINDING_ERROR,
                           "row-level security hides rows of %s from role \"%s\"",
                           admin->table.quoted, session_role(&admin->session));
    (void)snprintf(finding->fix, sizeof finding->fix, "ALTER ROLE %s BYPASSRLS;",
                   quote_role(admin, role));
    return 0;
}

static int inspect_privilege(struct admin *admin, struct findings *findings, const char *table,
                             const struct privilege *privilege, struct error *error)
{
    const char *params[3] = {table, privilege->what, privilege->column};
    const char *sql = privilege->column == NULL
                          ? "SELECT pg_catalog.has_table_privilege($1, $2)::int"
                          : "SELECT pg_catalog.has_column_privilege($1, $3, $2)::int";
    char column[QUOTED_BYTES_MAX] = "";
    char role[QUOTED_BYTES_MAX];
    struct finding *finding;
    int64_t held;

    held = admin_number(admin, sql, privilege->column == NULL ? 2 : 3, params, error);
    if (held != 0)
        return held < 0 ? -1 : 0;
    finding =
        findings_add(findings, FINDING_ERROR, "missing privilege: %s%s%s%s on %s for role \"%s\"",
                     privilege->what, privilege->column != NULL ? "(" : "",
                     privilege->column != NULL ? privilege->column : "",
                     privilege->column != NULL ? ")" : "", table, session_role(&admin->session));
    if (privilege->column != NULL)
        table_quote(&admin->session, privilege->column, column);
    (void)snprintf(finding->fix, sizeof finding->fix, "GRANT %s%s%s%s ON %s TO %s;",
                   privilege->what, privilege->column != NULL ? " (" : "", column,
                   privilege->column != NULL ? ")" : "", table, quote_role(admin, role));
    return 0;
}

/* Before it publishes, `run` makes sure which cluster it is connected to. */
static int inspect_identity(struct admin *admin, struct findings *findings, struct error *error)
{
    const char *role = session_role(&admin->session);
    char quoted[QUOTED_BYTES_MAX];
    struct finding *finding;
    int64_t held = admin_number(
        admin, "SELECT pg_catalog.has_function_privilege(" IDENTITY_FUNCTION ", 'EXECUTE')::int", 0,
        NULL, error);

    if (held != 0)
        return held < 0 ? -1 : 0;
    finding = findings_add(findings, FINDING_ERROR,
                           "missing privilege: EXECUTE on pg_catalog.pg_control_system() for role"
                           " \"%s\" (a superuser can grant it)",
                           role);
    (void)snprintf(finding->fix, sizeof finding->fix,
                   "GRANT EXECUTE ON FUNCTION pg_catalog.pg_control_system() TO %s;",
                   quote_role(admin, quoted));
    return 0;
}

static int inspect_privileges(struct admin *admin, struct findings *findings, struct error *error)
{
    bool mark = admin->options->on_sent == ON_SENT_MARK;
    const struct privilege on_outbox[] = {
        {"SELECT", NULL},
        {"UPDATE", admin->table.columns[mark ? COLUMN_SENT_AT : COLUMN_ID].name},
        {"DELETE", NULL}};
    const struct privilege on_parked[] = {
        {"SELECT", NULL}, {"INSERT", NULL}, {"UPDATE", NULL}, {"DELETE", NULL}};
    const struct privilege on_control[] = {{"SELECT", NULL}, {"INSERT", NULL}, {"DELETE", NULL}};
    const struct privilege on_slice[] = {{"SELECT", NULL}, {"UPDATE", "slices"}};

    for (size_t i = 0; i < sizeof on_outbox / sizeof *on_outbox; i++)
        if (!(i == 1 && mark && !table_has(&admin->table, COLUMN_SENT_AT)) &&
            inspect_privilege(admin, findings, admin->table.quoted, &on_outbox[i], error) < 0)
            return -1;
    for (size_t i = 0; admin->table.parked_exists && i < sizeof on_parked / sizeof *on_parked; i++)
        if (inspect_privilege(admin, findings, admin->table.parked_quoted, &on_parked[i], error) <
            0)
            return -1;
    for (size_t i = 0; admin->table.control_exists && i < sizeof on_control / sizeof *on_control;
         i++)
        if (inspect_privilege(admin, findings, admin->table.control_quoted, &on_control[i], error) <
            0)
            return -1;
    for (size_t i = 0; admin->table.slice_exists && i < sizeof on_slice / sizeof *on_slice; i++)
        if (inspect_privilege(admin, findings, admin->table.slice_quoted, &on_slice[i], error) < 0)
            return -1;
    return 0;
}

static void inspect_parked_column(struct findings *findings, const struct table *table,
                                  const struct parked_column *column)
{
    const char *parked = table->parked_quoted;
    struct finding *finding;

    if (column->has_type[0] == '\0') {
        finding = findings_add(findings, FINDING_ERROR, "column %s is missing in %s%s",
                               column->name, parked,
                               strstr(table->parked_lacks, column->name) != NULL
                                   ? ", which is that of an older outbox-relay: init brings it up"
                                     " to date"
                                   : "");
        (void)parked_column_sql(column, table, finding->fix, sizeof finding->fix);
    } else if (parked_column_differs(column)) {
        finding = findings_add(findings, FINDING_ERROR,
                               "column %s of %s has type %s, not %s:"
                               " rows may not be parked",
                               column->name, parked, column->has_type, column->type);
        (void)parked_type_sql(column, table, finding->fix, sizeof finding->fix);
    }
}

static void inspect_parked_index(struct findings *findings, const struct table *table,
                                 const struct parked_index *index)
{
    struct finding *finding;

    if (index->exists)
        return;
    finding = findings_add(findings, FINDING_WARNING,
                           "table %s has no index by %s where %s: each search for such"
                           " rows reads all that are parked",
                           table->parked_quoted, index->columns, index->predicate);
    (void)parked_index_sql(index, table, true, finding->fix, sizeof finding->fix);
}

static void add_not_found(struct findings *findings, const char *quoted)
{
    struct finding *finding = findings_add(findings, FINDING_ERROR, "table %s not found", quoted);

    (void)snprintf(finding->fix, sizeof finding->fix, "outbox-relay init");
}

static int inspect_parked(struct admin *admin, struct findings *findings, struct error *error)
{
    struct parked_table parked;

    if (!admin->table.control_exists)
        add_not_found(findings, admin->table.control_quoted);
    if (!admin->table.parked_exists) {
        add_not_found(findings, admin->table.parked_quoted);
        return 0;
    }
    if (parked_describe(&parked, &admin->table, &admin->session, error) < 0)
        return -1;
    for (int i = 0; i < PARKED_COLUMN_COUNT; i++)
        inspect_parked_column(findings, &admin->table, &parked.columns[i]);
    for (int i = 0; i < parked.index_count; i++)
        inspect_parked_index(findings, &admin->table, &parked.indexes[i]);
    return 0;
}

static bool has_error(const struct findings *findings)
{
    for (int i = 0; i < findings->count; i++)
        if (findings->items[i].level == FINDING_ERROR)
            return true;
    return false;
}

/* What only a table that fits can be asked. */
static int inspect_adoption(struct admin *admin, struct findings *findings, struct error *error)
{
    struct adoption adoption;
    struct finding *finding;
    struct error problem;

    if (!table_has_needed(&admin->table, admin->options) || admin->table.where_problem[0] != '\0')
        return 0;
    if (adoption_examine(&adoption, &admin->table, &admin->session, admin->options, error) < 0)
        return has_error(findings) ? 0 : -1; /* it is what keeps the table from being asked */
    if (adoption.state != ADOPTION_OPEN && adoption.state != ADOPTION_CONDITION)
        return 0;
    adoption_explain(&adoption, &admin->table, admin->options, &problem);
    if (adoption.state == ADOPTION_OPEN && admin->options->adopt) {
        (void)findings_add(findings, FINDING_WARNING, "%s ([outbox] adopt is true)", problem.text);
        return 0;
    }
    finding = findings_add(findings, FINDING_ERROR, "%s", problem.text);
    (void)snprintf(finding->fix, sizeof finding->fix, "%s", problem.hint);
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
        finding = findings_add(findings, FINDING_ERROR, "%s", problem.text);
        (void)snprintf(finding->fix, sizeof finding->fix, "%s", problem.hint);
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
        (void)snprintf(finding->fix, sizeof finding->fix, "ALTER TABLE %s ENABLE TRIGGER %s;",
                       admin->table.quoted, admin->table.notify_quoted);
    else
        (void)snprintf(finding->fix, sizeof finding->fix, "outbox-relay init --notify");
    return 0;
}

/* With target_session_attrs=any in the url; by default the connection has failed already. */
static int inspect_read_only(struct admin *admin, struct findings *findings, struct error *error)
{
    int64_t read_only =
        admin_number(admin, "SELECT pg_catalog.current_setting('transaction_read_only')::bool::int",
                     0, NULL, error);
    struct finding *finding;
    struct error problem;

    if (read_only <= 0)
        return read_only < 0 ? -1 : 0;
    (void)server_refuse_read_only(&problem);
    finding = findings_add(findings, FINDING_ERROR, "%s", problem.text);
    (void)snprintf(finding->fix, sizeof finding->fix, "%s", problem.hint);
    return 0;
}

static int inspect_all(struct admin *admin, struct findings *findings, struct error *error)
{
    inspect_server(admin, findings);
    inspect_encoding(admin, findings);
    if (inspect_read_only(admin, findings, error) < 0 || inspect_role(admin, findings, error) < 0 ||
        inspect_identity(admin, findings, error) < 0)
        return -1;
    if (!inspect_table(admin, findings))
        return 0;
    if (filter_try_index(&admin->table, &admin->session, error) < 0)
        return -1;
    if (admin->table.where_problem[0] != '\0')
        (void)findings_add(findings, FINDING_ERROR, "%s", admin->table.where_problem);
    inspect_columns(admin, findings);
    inspect_ids(admin, findings);
    inspect_index(admin, findings);
    if (inspect_slices(admin, findings, error) < 0 || inspect_parked(admin, findings, error) < 0 ||
        inspect_notify(admin, findings, error) < 0 ||
        inspect_sequence(admin, findings, error) < 0 ||
        inspect_values(admin, findings, error) < 0 ||
        inspect_row_security(admin, findings, error) < 0 ||
        inspect_privileges(admin, findings, error) < 0 ||
        inspect_settle(admin, findings, error) < 0 || inspect_cluster(admin, findings, error) < 0)
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
