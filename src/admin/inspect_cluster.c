#include "admin/inspect_cluster.h"

#include "catalog/sql_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLD_XIDS "100000"
#define HOLDERS_MAX "5"

/* Of a slot it is known only how many transactions ago its xmin was. Other roles' transactions are
 * visible to members of pg_read_all_stats alone; those that are prepared, and slots, to all. */
static const char holders_sql[] =
    "SELECT text, fix FROM ("
    "SELECT 'transaction of pid ' || pid || ' (role \"' || usename || '\"'"
    " || CASE WHEN application_name <> '' THEN ', ' || application_name ELSE '' END"
    " || ', ' || coalesce(state, backend_type) || ') is open for '"
    " || (extract(epoch FROM pg_catalog.clock_timestamp() - xact_start)::int8 / 60) || ' min'"
    " AS text, 'SELECT pg_catalog.pg_terminate_backend(' || pid || ');' AS fix,"
    " extract(epoch FROM pg_catalog.clock_timestamp() - xact_start) AS held"
    " FROM pg_catalog.pg_stat_activity"
    " WHERE (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)"
    " AND xact_start < pg_catalog.clock_timestamp() - $1::float8 * interval '1 s'"
    " AND backend_type = 'client backend'"
    " UNION ALL SELECT 'prepared transaction \"' || gid || '\" (role \"' || owner || '\") waits "
    "for '"
    " || (extract(epoch FROM pg_catalog.clock_timestamp() - prepared)::int8 / 60)"
    " || ' min for its COMMIT PREPARED', 'ROLLBACK PREPARED ' || pg_catalog.quote_literal(gid)"
    " || '; -- or COMMIT PREPARED, in database ' || pg_catalog.quote_ident(database),"
    " extract(epoch FROM pg_catalog.clock_timestamp() - prepared)"
    " FROM pg_catalog.pg_prepared_xacts"
    " WHERE prepared < pg_catalog.clock_timestamp() - $1::float8 * interval '1 s'"
    " UNION ALL SELECT CASE WHEN active THEN 'a standby or its queries keep, through' ELSE 'the "
    "unused'"
    " END || ' replication slot \"' || slot_name || '\"' || CASE WHEN active THEN ',' ELSE ' keeps'"
    " END || ' what was deleted in the last ' || pg_catalog.age(xmin) || ' transactions',"
    " CASE WHEN active THEN 'end the long queries of the standby' ELSE"
    " 'SELECT pg_catalog.pg_drop_replication_slot(' || pg_catalog.quote_literal(slot_name) || ');'"
    " END, pg_catalog.age(xmin)::numeric FROM pg_catalog.pg_replication_slots"
    " WHERE pg_catalog.age(xmin) > " OLD_XIDS ") holders ORDER BY held DESC LIMIT " HOLDERS_MAX;

int inspect_holders(struct admin *admin, int long_s, struct findings *findings, struct error *error)
{
    char seconds[16];
    const char *params[1] = {seconds};
    PGresult *result;

    (void)snprintf(seconds, sizeof seconds, "%d", long_s);
    result = session_query(&admin->session, holders_sql, 1, params, error);
    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++) {
        struct finding *finding =
            findings_add(findings, FINDING_WARNING, "%s: PostgreSQL cannot remove rows sent since",
                         PQgetvalue(result, row, 0));

        (void)snprintf(finding->fix, sizeof finding->fix, "%s", PQgetvalue(result, row, 1));
    }
    PQclear(result);
    return 0;
}

/* As a session begins: this one has set some of its own. */
static const char settings_sql[] =
    "SELECT name FROM pg_catalog.pg_settings WHERE reset_val = 'off'"
    " AND name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum', 'track_counts')"
    " ORDER BY name";

static const struct {
    const char *name;
    const char *consequence;
} settings[] = {
    {"fsync", "a crash of the machine may lose or damage what was committed"},
    {"full_page_writes", "a crash of the machine may damage the tables"},
    {"synchronous_commit",
     "a crash of the server loses the last commits: the application's events with its data"},
    {"autovacuum", "sent rows are never removed from the outbox's files, and claims get slower"},
    {"track_counts", "autovacuum does not know what to do: sent rows pile up"},
};

static int inspect_settings(struct admin *admin, struct findings *findings, struct error *error)
{
    PGresult *result = session_query(&admin->session, settings_sql, 0, NULL, error);

    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++)
        for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
            if (strcmp(PQgetvalue(result, row, 0), settings[i].name) == 0) {
                struct finding *finding = findings_add(findings, FINDING_WARNING, "%s is off: %s",
                                                       settings[i].name, settings[i].consequence);

                (void)snprintf(finding->fix, sizeof finding->fix,
                               "ALTER SYSTEM SET %s = on; SELECT pg_catalog.pg_reload_conf();",
                               settings[i].name);
            }
    PQclear(result);
    return 0;
}

/* Of the outbox and the relay's own tables. What a crash empties there is lost, too: parked rows
 * are nowhere else. */
static const char tables_sql[] =
    "SELECT name, relpersistence = 'u', EXISTS (SELECT FROM pg_catalog.unnest(reloptions) o (text)"
    " WHERE text IN ('autovacuum_enabled=false', 'autovacuum_enabled=off',"
    " 'autovacuum_enabled=0', 'autovacuum_enabled=no'))"
    " FROM pg_catalog.unnest($1::text[]) name JOIN pg_catalog.pg_class c"
    " ON c.oid = pg_catalog.to_regclass(name)";

static int inspect_tables(struct admin *admin, struct findings *findings, struct error *error)
{
    const char *names[TABLE_NAMES];
    const char *params[1];
    PGresult *result;
    char *array;

    table_names(&admin->table, names);
    array = sql_text_array(names, TABLE_NAMES);
    if (array == NULL)
        return error_no_memory(error);
    params[0] = array;
    result = session_query(&admin->session, tables_sql, 1, params, error);
    free(array);
    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++) {
        const char *name = PQgetvalue(result, row, 0);
        struct finding *finding;

        if (PQgetvalue(result, row, 1)[0] == 't') {
            finding = findings_add(findings, FINDING_WARNING,
                                   "table %s is unlogged: its rows are lost on a crash", name);
            (void)snprintf(finding->fix, sizeof finding->fix, "ALTER TABLE %s SET LOGGED;", name);
        }
        if (PQgetvalue(result, row, 2)[0] == 't') {
            finding = findings_add(findings, FINDING_WARNING,
                                   "autovacuum is off for table %s: sent rows are never removed"
                                   " from its files",
                                   name);
            (void)snprintf(finding->fix, sizeof finding->fix,
                           "ALTER TABLE %s RESET (autovacuum_enabled);", name);
        }
    }
    PQclear(result);
    return 0;
}

static int inspect_visibility(struct admin *admin, struct findings *findings, struct error *error)
{
    struct finding *finding;
    char role[QUOTED_BYTES_MAX];
    int64_t sees_all = admin_number(
        admin, "SELECT pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE')::int", 0, NULL, error);

    if (sees_all != 0)
        return sees_all < 0 ? -1 : 0;
    finding = findings_add(findings, FINDING_OK,
                           "role \"%s\" does not see how long transactions of others are open",
                           session_role(&admin->session));
    table_quote(&admin->session, session_role(&admin->session), role);
    (void)snprintf(finding->fix, sizeof finding->fix,
                   "GRANT pg_read_all_stats TO %s; -- as a superuser", role);
    return 0;
}

int inspect_cluster(struct admin *admin, struct findings *findings, struct error *error)
{
    if (inspect_settings(admin, findings, error) < 0 ||
        inspect_tables(admin, findings, error) < 0 ||
        inspect_visibility(admin, findings, error) < 0)
        return -1;
    return inspect_holders(admin, HOLDERS_LONG_S, findings, error);
}
