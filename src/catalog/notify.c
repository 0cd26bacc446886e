#include "catalog/notify.h"

#include "catalog/facts.h"
#include "sql/sql.h"
#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int notify_refuse_foreign(const struct table *table, struct session *session, struct error *error)
{
    PGresult *result = table_query(table, session, statement_foreign_function, 0, NULL, error);
    int status = result != NULL ? 0 : -1;

    if (result != NULL && PQntuples(result) > 0) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "%s", PQgetvalue(result, 0, 0));
        status = error_hint(error, "%s", PQgetvalue(result, 0, 1));
    }
    PQclear(result);
    return status;
}

int notify_describe(struct notify *notify, struct session *session, const struct table *table,
                    struct error *error)
{
    const char *params[2] = {table->quoted, notify->name};
    PGresult *result;

    *notify = (struct notify){0};
    (void)snprintf(notify->name, sizeof notify->name, "%s_notify", table->stem);
    result = session_query(session, sql_body(statement_notify_trigger), 2, params, error);
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
