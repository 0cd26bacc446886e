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

/* The function that init makes, and the one that the trigger calls, if they are those of a role
 * that could not change the outbox itself. */
static const char foreign_sql[] =
    "SELECT p.oid::pg_catalog.regprocedure, pg_catalog.pg_get_userbyid(p.proowner)"
    " FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_class c ON c.oid ="
    " pg_catalog.to_regclass($1) WHERE (p.proname = $2::pg_catalog.name AND p.pronamespace ="
    " c.relnamespace AND p.pronargs = 0 OR p.oid IN (SELECT t.tgfoid FROM pg_catalog.pg_trigger t"
    " WHERE t.tgrelid = c.oid AND t.tgname = $2::pg_catalog.name AND NOT t.tgisinternal))"
    " AND p.proowner <> c.relowner AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.oid ="
    " p.proowner AND (r.rolsuper OR r.rolname = current_user)) LIMIT 1";

int notify_refuse_foreign(const struct notify *notify, struct session *session,
                          const struct table *table, struct error *error)
{
    const char *params[2] = {table->quoted, notify->name};
    PGresult *result = session_query(session, foreign_sql, 2, params, error);
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

/* Who inserts holds the lock in share mode, and an idle relay, which may delete, in exclusive mode;
 * but any role may take it. */
static const char intruder_sql[] =
    "SELECT pg_catalog.concat('pid ', a.pid, ' (role \"', a.usename, '\"', CASE WHEN"
    " a.application_name <> '' THEN ', ' || a.application_name END, ')'), a.pid"
    " FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a USING (pid)"
    " WHERE l.locktype = 'advisory' AND l.granted AND l.classid = $1::pg_catalog.oid AND l.objid ="
    " $2::pg_catalog.oid AND l.objsubid = 2 AND l.database = (SELECT oid FROM"
    " pg_catalog.pg_database WHERE datname = pg_catalog.current_database()) AND NOT"
    " pg_catalog.has_table_privilege(a.usesysid, $2::pg_catalog.oid, CASE l.mode WHEN"
    " 'ExclusiveLock' THEN 'DELETE' ELSE 'INSERT' END) ORDER BY a.pid LIMIT 1";

int notify_inspect_lock(const struct notify *notify, struct session *session,
                        struct findings *findings, struct error *error)
{
    char class[16];
    char oid[16];
    const char *params[2] = {class, oid};
    struct finding *finding;
    PGresult *result;

    (void)snprintf(class, sizeof class, "%d", NOTIFY_LOCK);
    (void)snprintf(oid, sizeof oid, "%u", notify->oid);
    result = session_query(session, intruder_sql, 2, params, error);
    if (result == NULL)
        return -1;
    if (PQntuples(result) > 0) {
        finding = findings_add(findings, FINDING_WARNING,
                               "%s holds advisory lock (%s, %s), by which trigger \"%s\" learns"
                               " that a relay is idle, without a right to it: relays find new rows"
                               " by polling, or each insert notifies in vain",
                               PQgetvalue(result, 0, 0), class, oid, notify->name);
        (void)snprintf(finding->fix, sizeof finding->fix,
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
