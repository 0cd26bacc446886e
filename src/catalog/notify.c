#include "catalog/notify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The cast to name truncates a long name as CREATE TRIGGER does. */
static const char trigger_sql[] =
    "SELECT c.oid, t.tgname IS NOT NULL, coalesce(t.tgenabled IN ('O', 'A'), false)"
    " FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_trigger t ON t.tgrelid = c.oid"
    "  AND NOT t.tgisinternal AND t.tgname = $2::pg_catalog.name"
    " WHERE c.oid = pg_catalog.to_regclass($1)";

int notify_describe(struct notify *notify, struct session *session, const struct table *table,
                    struct error *error)
{
    const char *params[2] = {table->quoted, notify->name};
    PGresult *result;

    *notify = (struct notify){0};
    (void)snprintf(notify->name, sizeof notify->name, "%s_notify", table->name);
    result = session_query(session, trigger_sql, 2, params, error);
    if (result == NULL)
        return -1;
    if (PQntuples(result) > 0) {
        notify->oid = (uint32_t)strtoul(PQgetvalue(result, 0, 0), NULL, 10);
        notify->exists = PQgetvalue(result, 0, 1)[0] == 't';
        notify->fires = PQgetvalue(result, 0, 2)[0] == 't';
    }
    PQclear(result);
    (void)snprintf(notify->channel, sizeof notify->channel, "outbox_relay_%u", notify->oid);
    return 0;
}
