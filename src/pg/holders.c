/* Names who holds a lock that a statement waited for in vain. */
#include "pg/holders.h"

#include "sql/sql.h"
#include "sql/statements.h"

#include <stdio.h>
#include <string.h>

static PGresult *ask(struct session *session, const char *const tables[HOLDERS_TABLES])
{
    const char *params[HOLDERS_TABLES];
    struct error ignored;
    PGresult *result = NULL;

    for (int i = 0; i < HOLDERS_TABLES; i++)
        params[i] = tables[i][0] != '\0' ? tables[i] : NULL;
    if (PQtransactionStatus(session->conn) == PQTRANS_IDLE ||
        session_execute(session, "ROLLBACK", &ignored) == 0)
        result = session_query(session, sql_body(statement_lock_holders), HOLDERS_TABLES, params,
                               &ignored);
    return result;
}

int holders_lock_advisory(struct session *session, const char *class, const char *object,
                          struct error *error)
{
    const char *params[2] = {class, object};
    struct error ignored;
    PGresult *result = session_query(
        session, "SELECT pg_catalog.pg_advisory_xact_lock($1::int, $2::int)", 2, params, error);
    bool locked = result != NULL;

    PQclear(result);
    if (locked)
        return 0;
    if (!error_is_sqlstate(error, "55P03") || session_execute(session, "ROLLBACK", &ignored) < 0)
        return -1;
    result = session_query(session, sql_body(statement_advisory_holder), 2, params, &ignored);
    if (result != NULL && PQntuples(result) > 0) {
        (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                        "another session holds advisory lock (%s, %s), by which commands of"
                        " outbox-relay wait for each other: %s",
                        class, object, PQgetvalue(result, 0, 0));
        (void)error_hint(error, "let its transaction end, or end it: %s", PQgetvalue(result, 0, 1));
    }
    PQclear(result);
    return -1;
}

void holders_name(struct session *session, const char *const tables[HOLDERS_TABLES],
                  struct error *error)
{
    size_t len = strlen(error->text);
    PGresult *result;

    if (!error_is_sqlstate(error, "55P03") || session->conn == NULL)
        return;
    result = ask(session, tables);
    if (result == NULL || PQgetisnull(result, 0, 0)) {
        (void)snprintf(error->text + len, sizeof error->text - len,
                       ": another transaction held the lock for more than a second");
    } else {
        (void)snprintf(error->text + len, sizeof error->text - len, ": the lock is held by %s",
                       PQgetvalue(result, 0, 0));
        if (error->hint[0] == '\0' && !PQgetisnull(result, 0, 1))
            (void)error_hint(error, "let that transaction end, or end it: %s",
                             PQgetvalue(result, 0, 1));
    }
    PQclear(result);
}

int holders_of_rows(struct session *session, const char *table, struct error *holder,
                    struct error *error)
{
    const char *params[HOLDERS_TABLES] = {table};
    PGresult *result =
        session_query(session, sql_body(statement_lock_holders), HOLDERS_TABLES, params, error);
    bool held;

    if (result == NULL)
        return -1;
    held = PQgetvalue(result, 0, 2)[0] == 't';
    if (held) {
        (void)error_set(holder, ERROR_TRANSIENT, ERROR_DATABASE,
                        "database: rows of %s are locked, so no lane can claim the events of these"
                        " slices: by %s",
                        table, PQgetvalue(result, 0, 0));
        (void)error_hint(holder, "let that transaction end, or end it: %s",
                         PQgetvalue(result, 0, 1));
    }
    PQclear(result);
    return held;
}
