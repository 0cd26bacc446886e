#include "admin/admin_session.h"

#include "catalog/sql_text.h"
#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int inspect_holders(struct admin *admin, int long_s, struct findings *findings, struct error *error)
{
    char seconds[16];
    const char *params[1] = {seconds};
    PGresult *result;

    (void)snprintf(seconds, sizeof seconds, "%d", long_s);
    result = admin_query(admin, statement_vacuum_holders, 1, params, error);
    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++)
        finding_fix(findings_add(findings, FINDING_WARNING,
                                 "%s: PostgreSQL cannot remove rows sent since",
                                 PQgetvalue(result, row, 0)),
                    "%s", PQgetvalue(result, row, 1));
    PQclear(result);
    return 0;
}

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
    PGresult *result = admin_query(admin, statement_settings_off, 0, NULL, error);

    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++)
        for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
            if (strcmp(PQgetvalue(result, row, 0), settings[i].name) == 0)
                finding_fix(findings_add(findings, FINDING_WARNING, "%s is off: %s",
                                         settings[i].name, settings[i].consequence),
                            "ALTER SYSTEM SET %s = on; SELECT pg_catalog.pg_reload_conf();",
                            settings[i].name);
    PQclear(result);
    return 0;
}

/* Of the outbox and the relay's own tables. What a crash empties there is lost, too: parked rows
 * are nowhere else. */
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
    result = admin_query(admin, statement_table_settings, 1, params, error);
    free(array);
    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++) {
        const char *name = PQgetvalue(result, row, 0);

        if (PQgetvalue(result, row, 1)[0] == 't')
            finding_fix(findings_add(findings, FINDING_WARNING,
                                     "table %s is unlogged: its rows are lost on a crash", name),
                        "ALTER TABLE %s SET LOGGED;", name);
        if (PQgetvalue(result, row, 2)[0] == 't')
            finding_fix(findings_add(findings, FINDING_WARNING,
                                     "autovacuum is off for table %s: sent rows are never removed"
                                     " from its files",
                                     name),
                        "ALTER TABLE %s RESET (autovacuum_enabled);", name);
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
    finding_fix(finding, "GRANT pg_read_all_stats TO %s; -- as a superuser", role);
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
