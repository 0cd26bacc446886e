/* Opens a session: what every one of them reads, refuses and sets at its start. */
#include "pg/open.h"

#include "base/clock.h"
#include "base/log_limit.h"
#include "pg/connect.h"
#include "pg/pooler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A warning of the server may say that a COMMIT did not wait for its synchronous standby. Such
 * warnings have a rate limit of their own, so that a trigger that raises many cannot hide them.
 * Warnings raised by a function come with a context. */
static void on_notice(void *closure, const PGresult *result)
{
    static struct log_limit of_server = {.lines = "warnings of the database"};
    static struct log_limit of_functions = {.lines = "warnings of functions in the database"};
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    bool has_context = PQresultErrorField(result, PG_DIAG_CONTEXT) != NULL;

    (void)closure;
    if (severity != NULL && text != NULL && strcmp(severity, "WARNING") == 0)
        log_limit_line(has_context ? &of_functions : &of_server, LOG_WARN, clock_now_ms(),
                       "database: %s", text);
}

/* Reads the role's search_path, on which an unqualified table name is looked up, and the backend's
 * pid: a pooler makes up the one that it reports to its clients. This is the session's first
 * statement: it calls functions by their qualified names, without an operator or a cast, so nothing
 * from that path can run. */
static int take_schemas(struct session *session, struct error *error)
{
    PGresult *result = session_query(
        session, "SELECT pg_catalog.current_schemas(false), pg_catalog.pg_backend_pid()", 0, NULL,
        error);

    if (result == NULL)
        return -1;
    session->schemas = strdup(PQgetvalue(result, 0, 0));
    session->is_pooled = strtol(PQgetvalue(result, 0, 1), NULL, 10) != PQbackendPID(session->conn);
    PQclear(result);
    return session->schemas != NULL ? 0 : error_no_memory(error);
}

/* A timestamp without time zone is read, and written, as one of this zone. */
static int set_time_zone(struct session *session, const struct session_options *options,
                         struct error *error)
{
    const char *params[1] = {options->time_zone != NULL ? options->time_zone : "UTC"};
    PGresult *result = session_query(session, "SELECT pg_catalog.set_config('TimeZone', $1, false)",
                                     1, params, error);

    PQclear(result);
    if (result != NULL)
        return 0;
    if (error_is_sqlstate(error, "22023"))
        (void)error_hint(error, "SELECT name FROM pg_timezone_names; lists the names for [outbox]"
                                " time_zone");
    return -1;
}

/* The meaning of a literal and of an expression in our SQL and in [outbox] where, and the text of a
 * value, depend on these. A role or a database may set others. quote_all_identifiers is off because
 * types are compared by name. */
#define LANGUAGE                                                                                   \
    "SET standard_conforming_strings = on; SET transform_null_equals = off; SET array_nulls = on;" \
    "SET quote_all_identifiers = off; SET DateStyle = 'ISO'; SET IntervalStyle = 'postgres';"      \
    "SET bytea_output = 'hex'; SET extra_float_digits = 1; SET xmlbinary = 'base64';"              \
    "SET xmloption = 'content'; SET client_min_messages = 'warning';"

/* The keepalive settings make the server release the row locks of a relay whose host died.
 * transaction_timeout is off because it could end a transaction whose rows have been published
 * already. */
static int apply_settings(struct session *session, const struct session_options *options,
                          struct error *error)
{
    char sql[1536];
    int version = session_server_version(session);

    (void)snprintf(sql, sizeof sql,
                   LANGUAGE "SET search_path = ''; SET row_security = off;"
                            "SET default_transaction_isolation = 'read committed';"
                            "SET synchronous_commit = %s;"
                            "SET idle_in_transaction_session_timeout = %" PRId64 ";"
                            "SET statement_timeout = %d; SET lock_timeout = 1000;"
                            "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5;"
                            "SET tcp_keepalives_count = 3; SET tcp_user_timeout = 15000;"
                            "SET jit = off; SET enable_seqscan = off; SET enable_bitmapscan = off;"
                            "SET enable_sort = off%s%s",
                   options->synchronous_commit ? "on" : "off", options->idle_ms,
                   SESSION_STATEMENT_MS, version >= 140000 ? "; SET idle_session_timeout = 0" : "",
                   version >= 170000 ? "; SET transaction_timeout = 0" : "");
    return session_execute(session, sql, error) < 0 ? -1 : set_time_zone(session, options, error);
}

int session_open(struct session *session, const struct session_options *options, const char *name,
                 struct error *error)
{
    session->schemas = NULL;
    session->conn = connect_open(&session->late, options, name, session->first_host, error);
    if (session->conn == NULL)
        return -1;
    (void)PQsetNoticeReceiver(session->conn, on_notice, NULL);
    if (PQsetnonblocking(session->conn, 1) < 0) {
        (void)session_fail(session, NULL, error);
        session_close(session);
        return -1;
    }
    if (take_schemas(session, error) < 0 ||
        (session->is_pooled && pooler_check(session, options, error) < 0) ||
        apply_settings(session, options, error) < 0) {
        session_close(session);
        return -1;
    }
    return 0;
}
