#include "catalog/zone.h"

#include <stdio.h>
#include <string.h>

/* The zone of a new session, and those set for the database and for roles, as far as they differ
 * from this session's in winter or in summer. */
static const char others_sql[] =
    "SELECT pg_catalog.string_agg(zone, ', ' ORDER BY zone), min(zone) FROM (SELECT reset_val AS"
    " zone FROM pg_catalog.pg_settings WHERE name = 'TimeZone' UNION SELECT pg_catalog.substr("
    "setting, pg_catalog.strpos(setting, '=') + 1) FROM pg_catalog.pg_db_role_setting,"
    " pg_catalog.unnest(setconfig) setting WHERE setting ~* '^timezone=' AND setdatabase IN (0,"
    " (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())))"
    " zones WHERE EXISTS (SELECT FROM (VALUES ('2026-01-01 00:00Z'::timestamptz),"
    " ('2026-07-01 00:00Z')) t (at) WHERE at AT TIME ZONE zone <> at::timestamp)";

bool zone_is_lacking(const struct table_column *column)
{
    return column->category == 'D' && strstr(column->base, "with time zone") == NULL;
}

int zone_find_others(struct zones *zones, struct session *session, struct error *error)
{
    PGresult *result = session_query(session, others_sql, 0, NULL, error);

    *zones = (struct zones){0};
    if (result == NULL)
        return -1;
    (void)snprintf(zones->all, sizeof zones->all, "%s", PQgetvalue(result, 0, 0));
    (void)snprintf(zones->first, sizeof zones->first, "%s", PQgetvalue(result, 0, 1));
    PQclear(result);
    return 0;
}
