/* Names who holds a lock that a statement waited for in vain. */
#include "pg/holders.h"

#include <stdio.h>
#include <string.h>

#define HOLDERS_MAX "3"

/* A lock that keeps writers out of the table is what kept the statement waiting; if there is none,
 * it was a row's, and a transaction that writes holds it: hardly that of another relay, which is
 * short. Only if nobody writes, a vacuum or a reader was in the way of what `init` changes. What
 * sessions of other roles do, and since when, only members of pg_read_all_stats see. */
static const char holders_sql[] =
    "WITH held AS (SELECT l.pid, c.relname, CASE WHEN l.mode IN ('ShareLock',"
    " 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') THEN 3"
    " WHEN l.mode IN ('RowShareLock', 'RowExclusiveLock') THEN 2 ELSE 1 END AS rank, a.*, gid"
    " FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_class c ON c.oid = l.relation"
    " LEFT JOIN LATERAL (SELECT usename, application_name AS name, state, xact_start FROM"
    "  pg_catalog.pg_stat_activity WHERE pg_stat_activity.pid = l.pid) a ON true"
    " LEFT JOIN pg_catalog.pg_prepared_xacts p ON l.pid IS NULL AND p.transaction IN (SELECT"
    "  transactionid FROM pg_catalog.pg_locks t WHERE t.pid IS NULL"
    "  AND t.virtualtransaction = l.virtualtransaction)"
    " WHERE l.locktype = 'relation' AND l.granted AND l.pid IS DISTINCT FROM"
    " pg_catalog.pg_backend_pid() AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE"
    " datname = pg_catalog.current_database()) AND l.relation IN (pg_catalog.to_regclass($1),"
    " pg_catalog.to_regclass($2), pg_catalog.to_regclass($3), pg_catalog.to_regclass($4))),"
    " first AS (SELECT DISTINCT ON (pid, gid) * FROM held WHERE rank = (SELECT max(rank) FROM held)"
    "  ORDER BY pid, gid, relname),"
    " chosen AS (SELECT * FROM first WHERE name NOT LIKE 'outbox-relay/%' OR name IS NULL OR NOT"
    "  EXISTS (SELECT FROM first WHERE name NOT LIKE 'outbox-relay/%' OR name IS NULL)"
    "  ORDER BY xact_start LIMIT " HOLDERS_MAX ")"
    " SELECT pg_catalog.string_agg(CASE WHEN pid IS NULL THEN 'prepared transaction'"
    " || coalesce(' ' || pg_catalog.quote_literal(gid), '') ELSE 'pid '"
    " || pid || ' (role \"' || usename || '\"' || CASE WHEN name <> '' THEN ', ' || name ELSE ''"
    " END || coalesce(', ' || state || pg_catalog.to_char(xact_start AT TIME ZONE 'UTC',"
    " '\" since \"YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), '') || ')' END || ' on ' || relname, ', '),"
    " (pg_catalog.array_agg(CASE WHEN pid IS NULL THEN 'ROLLBACK PREPARED ' ||"
    "  pg_catalog.quote_literal(gid) || '; or COMMIT PREPARED' ELSE"
    "  'SELECT pg_catalog.pg_terminate_backend(' || pid || ');' END))[1] FROM chosen";

static PGresult *ask(struct session *session, const char *const tables[HOLDERS_TABLES])
{
    const char *params[HOLDERS_TABLES];
    struct error ignored;
    PGresult *result = NULL;

    for (int i = 0; i < HOLDERS_TABLES; i++)
        params[i] = tables[i][0] != '\0' ? tables[i] : NULL;
    if (PQtransactionStatus(session->conn) == PQTRANS_IDLE ||
        session_execute(session, "ROLLBACK", &ignored) == 0)
        result = session_query(session, holders_sql, HOLDERS_TABLES, params, &ignored);
    return result;
}

/* Any role may take an advisory lock, so its holder need not be one of ours. */
static const char advisory_sql[] =
    "SELECT 'pid ' || pid || ' (role \"' || usename || '\"' || CASE WHEN application_name <> ''"
    " THEN ', ' || application_name ELSE '' END || ')', 'SELECT pg_catalog.pg_terminate_backend('"
    " || pid || ');' FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a USING (pid)"
    " WHERE l.locktype = 'advisory' AND l.granted AND l.classid = $1::pg_catalog.oid AND l.objid ="
    " $2::pg_catalog.oid AND l.objsubid = 2 AND l.database = (SELECT oid FROM"
    " pg_catalog.pg_database WHERE datname = pg_catalog.current_database()) LIMIT 1";

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
    result = session_query(session, advisory_sql, 2, params, &ignored);
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
