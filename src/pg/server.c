#include "pg/server.h"

#include "base/clock.h"
#include "base/hint.h"
#include "base/log_limit.h"
#include "pg/connect.h"
#include "sql/sql.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct log_limit refusals = {.lines = "refusals of a database server"};

/* A cluster that took the place of another (pg_upgrade, blue/green) stays, so only a restart helps.
 * A primary that was replaced must not become this relay's by a restart that nobody has asked for:
 * its successor is waited for. */
static int refuse(const struct server *server, const char *system, int64_t timeline,
                  struct error *error)
{
    if (strcmp(server->system, system) == 0) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "database: the server is on timeline %" PRId64 ", the previous connection"
                        " was on %" PRId64 ": a primary that was replaced is up again",
                        timeline, server->timeline);
        return error_hint(error, "stop this server, or have the url name the one that replaced it;"
                                 " if it is the right one after all, restart the relay");
    }
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "database: this is not the cluster of the previous connection (system"
                    " identifier %s instead of %s)",
                    system, server->system);
    error->needs_restart = true;
    return error_hint(error, "after pg_upgrade or a blue/green switch restart the relay; else"
                             " correct url in [database]");
}

static int refuse_read_only(struct error *error)
{
    (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE, "database: the server is read-only");
    return error_hint(error, "%s", hint_find("connect-later", text_of(error->text)));
}

static int ask(struct server *server, struct session *session, struct error *error)
{
    PGresult *result = session_query(session, sql_body(statement_server_identity), 0, NULL, error);

    if (result == NULL)
        return -1;
    if (PQgetisnull(result, 0, 1)) {
        PQclear(result);
        return refuse_read_only(error);
    }
    (void)snprintf(server->system, sizeof server->system, "%s", PQgetvalue(result, 0, 0));
    server->timeline = strtoll(PQgetvalue(result, 0, 1), NULL, 10);
    PQclear(result);
    return 0;
}

int server_check_identity(struct server *server, struct session *session, struct error *error)
{
    struct server found;

    if (ask(&found, session, error) < 0)
        return -1;
    if (server->system[0] != '\0' &&
        (strcmp(server->system, found.system) != 0 || found.timeline < server->timeline)) {
        /* The server that is wanted may be another host. If so, the outage is too short for a line
         * of its own. */
        session->first_host++;
        (void)refuse(server, found.system, found.timeline, error);
        log_limit_line(&refusals, LOG_WARN, clock_now_ms(), "%s", error->text);
        return -1;
    }
    memcpy(server->system, found.system, sizeof server->system);
    server->timeline = found.timeline;
    return 0;
}

int server_check_role(struct session *session, bool allow_superuser, struct error *error)
{
    PGresult *result;
    int status = 0;

    if (allow_superuser)
        return 0;
    result = session_query(session, sql_body(statement_refused_role), 0, NULL, error);
    if (result == NULL)
        return -1;
    if (PQntuples(result) > 0) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "%s", PQgetvalue(result, 0, 0));
        status = error_hint(error, "%s", PQgetvalue(result, 0, 1));
    }
    PQclear(result);
    return status;
}

/* A backend is identified by its pid and start time: pids are reused, replicas may share an
 * application_name, and the watcher renames its session. A pooler may have given it to another
 * client since. */
int server_terminate_previous(struct session *session, struct error *error)
{
    const char *params[1] = {session->backend};
    PGresult *result;

    if (session->is_pooled)
        return 0;
    result = session_query(session, sql_body(statement_end_previous_backend), 1, params, error);

    if (result == NULL)
        return -1;
    if (PQntuples(result) > 0)
        (void)snprintf(session->backend, sizeof session->backend, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return 0;
}

/* The outcome is logged and nothing depends on it: the rows themselves show whether they were
 * settled. */
void server_log_unconfirmed_commit(struct server *server, struct session *session)
{
    char xact[24];
    const char *params[1] = {xact};
    struct error ignored;
    PGresult *result;

    if (server->unconfirmed_xact == 0)
        return;
    (void)snprintf(xact, sizeof xact, "%" PRId64, server->unconfirmed_xact);
    server->unconfirmed_xact = 0;
    result = session_query(session, "SELECT pg_catalog.pg_xact_status($1::text::xid8)", 1, params,
                           &ignored);
    log_info("database: the COMMIT of transaction %s was not confirmed: commit_outcome=%s", xact,
             result != NULL && !PQgetisnull(result, 0, 0) ? PQgetvalue(result, 0, 0) : "unknown");
    PQclear(result);
}
