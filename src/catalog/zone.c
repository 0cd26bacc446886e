#include "catalog/zone.h"

#include "sql/sql.h"
#include "sql/statements.h"

#include <stdio.h>
#include <string.h>

bool zone_is_lacking(const struct table_column *column)
{
    return column->category == 'D' && strstr(column->base, "with time zone") == NULL;
}

int zone_find_others(struct zones *zones, struct session *session, struct error *error)
{
    PGresult *result = session_query(session, sql_body(statement_other_zones), 0, NULL, error);

    *zones = (struct zones){0};
    if (result == NULL)
        return -1;
    (void)snprintf(zones->all, sizeof zones->all, "%s", PQgetvalue(result, 0, 0));
    (void)snprintf(zones->first, sizeof zones->first, "%s", PQgetvalue(result, 0, 1));
    PQclear(result);
    return 0;
}
