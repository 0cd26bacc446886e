#include "catalog/notify.h"

#include "sql/sql.h"
#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int notify_refuse_foreign(const struct notify *notify, struct session *session,
                          const struct table *table, struct error *error)
{
    const char *params[2] = {table->quoted, notify->name};
    PGresult *result =
        session_query(session, sql_body(statement_foreign_function), 2, params, error);
    int status = result != NULL ? 0 : -1;

    if (result != NULL && PQntuples(result) > 0) {
        status = error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                           "function %s, which runs at each insert, belongs to role %s: whoever"
                           " inserts would run what that role puts into it",
                           PQgetvalue(result, 0, 0), PQgetvalue(result, 0, 1));
        (void)error_hint(error, "DROP FUNCTION %s CASCADE; then outbox-relay init --notify",
                         PQgetvalue(result, 0, 0));
    }
    PQclear(result);
    return status;
}

int notify_inspect_lock(const struct notify *notify, struct session *session,
                        struct findings *findings, struct error *error)
{
    char class[16];
    char oid[16];
    const char *params[2] = {class, oid};
    PGresult *result;

    (void)snprintf(class, sizeof class, "%d", NOTIFY_LOCK);
    (void)snprintf(oid, sizeof oid, "%u", notify->oid);
    result = session_query(session, sql_body(statement_lock_intruder), 2, params, error);
    if (result == NULL)
        return -1;
    if (PQntuples(result) > 0) {
        finding_fix(
            findings_add(findings, FINDING_WARNING,
                         "%s holds advisory lock (%s, %s), by which trigger \"%s\" learns"
                         " that a relay is idle, without a right to it: relays find new rows"
                         " by polling, or each insert notifies in vain",
                         PQgetvalue(result, 0, 0), class, oid, notify->name),
            "SELECT pg_catalog.pg_terminate_backend(%s);", PQgetvalue(result, 0, 1));
    }
    PQclear(result);
    return 0;
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
