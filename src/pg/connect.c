/*
 * Opens a session: connects, proves that a pooler keeps one backend for it, and makes its settings.
 */
#include "pg/connect.h"

#include "base/clock.h"
#include "base/hint.h"
#include "base/log_limit.h"
#include "base/secret.h"
#include "pg/transport.h"
#include "source/conninfo.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For each address, unless the url, its service or PGCONNECT_TIMEOUT sets connect_timeout. */
#define TIMEOUT_S 5
#define ADDRESSES_PER_HOST 8 /* addresses of each host that the limit allows time for */
#define TIMEOUT_S_MAX 3600
#define MARGIN_MS 1000 /* lets libpq report its own timeout first, which says more */

/* The parameters and the result of one attempt to connect. It has its own copies, because it may
 * outlive the caller. */
struct attempt {
    char *url;
    char *password; /* from database.password_file; NULL when there is none */
    char application_name[80];
    char timeout[24];
    struct transport_hosts hosts;
    PGconn *conn;
    char refused[sizeof((struct error *)0)->text]; /* what the server said; "": nothing */
};

/* Reads the file for each connection, so that a rotated password takes effect. NULL with *error
 * set. */
static char *read_password(const char *path, struct error *error)
{
    struct error cause;
    char *password = secret_read(path, &cause);

    if (password == NULL)
        (void)error_set(error, cause.kind, cause.origin, "database.password_file %s", cause.text);
    return password;
}

static void attempt_free(struct attempt *attempt)
{
    free(attempt->url);
    secret_free(attempt->password);
    transport_free_hosts(&attempt->hosts);
    free(attempt);
}

static void drop(void *argument)
{
    struct attempt *attempt = argument;

    PQfinish(attempt->conn);
    attempt_free(attempt);
}

/* libpq gives no SQLSTATE for a failed connection, but writes it in front of the server's text in
 * its verbose form, which takes another attempt. Two blanks follow the severity, in any language;
 * libpq's own texts, which are in English, have none. */
#define SEVERITY_ENDS ":  "

/* libpq reports each attempt, to each host with and without TLS, on lines of its own. A line that
 * repeats an earlier one is left out. */
static void copy_message(char *out, size_t size, const char *text)
{
    size_t at = 0;

    out[0] = '\0';
    while (*text != '\0' && at + 1 < size) {
        size_t len = strcspn(text, "\n");
        int written;

        if (memmem(out, at, text, len) == NULL) {
            written = snprintf(out + at, size - at, "%.*s\n", (int)len, text);
            at += written > 0 ? (size_t)written : 0;
        }
        text += len + (text[len] == '\n');
    }
}

/* What to do about the message, "" when that is not known. *is_final: waiting does not help. */
static const char *find_hint(const char *message, bool *is_final)
{
    const char *hint = hint_find("connect", text_of(message));

    *is_final = hint[0] != '\0';
    return *is_final ? hint : hint_find("connect-later", text_of(message));
}

static void ask_for_sqlstate(struct attempt *attempt)
{
    const char *text = PQerrorMessage(attempt->conn);
    bool is_final;

    if (PQstatus(attempt->conn) == CONNECTION_OK || strstr(text, SEVERITY_ENDS) == NULL ||
        find_hint(text, &is_final)[0] != '\0')
        return;
    copy_message(attempt->refused, sizeof attempt->refused, text);
    (void)PQsetErrorVerbosity(attempt->conn, PQERRORS_VERBOSE);
    PQreset(attempt->conn);
}

/* Of repeated keywords libpq uses the last: those before "dbname", which holds the url, are
 * defaults, and those after it override the url unless their value is NULL or empty. */
static void work(void *argument)
{
    struct attempt *attempt = argument;
    const char *keywords[] = {"keepalives_idle",  "keepalives_interval",
                              "keepalives_count", "tcp_user_timeout",
                              "client_encoding",  "target_session_attrs",
                              "application_name", "dbname",
                              "connect_timeout",  "host",
                              "hostaddr",         "port",
                              "password",         NULL};
    const char *values[] = {"10",
                            "5",
                            "3",
                            "15000",
                            "UTF8",
                            "read-write",
                            attempt->application_name,
                            attempt->url,
                            attempt->timeout,
                            attempt->hosts.host,
                            attempt->hosts.hostaddr,
                            attempt->hosts.port,
                            attempt->password,
                            NULL};

    attempt->conn = PQconnectdbParams(keywords, values, 1);
    if (attempt->conn != NULL)
        ask_for_sqlstate(attempt);
}

/* Sets libpq's timeout for each address. Returns the time limit for all addresses in ms, or -1. */
static int64_t set_timeout(struct attempt *attempt, struct error *error)
{
    char problem[CONNINFO_PROBLEM_BYTES];
    struct transport transport;
    long timeout_s;

    if (conninfo_check(attempt->url, problem) < 0)
        return error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "database.url: %s", problem);
    if (transport_resolve(&transport, attempt->url) < 0)
        transport.hosts = 1;
    timeout_s = transport.connect_timeout_s > 0 ? transport.connect_timeout_s : TIMEOUT_S;
    if (timeout_s > TIMEOUT_S_MAX)
        timeout_s = TIMEOUT_S_MAX;
    (void)snprintf(attempt->timeout, sizeof attempt->timeout, "%ld", timeout_s);
    return (int64_t)timeout_s * 1000 * transport.hosts * ADDRESSES_PER_HOST + MARGIN_MS;
}

/* Whether a server at its work has refused the connection; one that starts or ends is not. */
static bool is_at_work(const char *text)
{
    return strstr(text, SEVERITY_ENDS) != NULL && strstr(text, SEVERITY_ENDS "57P") == NULL;
}

/* `said`: what the server said before it was asked for the SQLSTATE; "": it was not. */
static int refuse(const PGconn *conn, const char *said, struct error *error)
{
    char text[sizeof error->text];
    const char *hint;
    bool is_final;

    copy_message(text, sizeof text, PQerrorMessage(conn));
    hint = find_hint(text, &is_final);
    (void)error_set(error, is_final ? ERROR_PERMANENT : ERROR_TRANSIENT, ERROR_DATABASE,
                    "database: %s", said[0] != '\0' ? said : text);
    error->is_unanswered = !is_final && !is_at_work(text);
    return error_hint(error, "%s", hint);
}

/* Returns 0, or -1 when the connection failed or may not be used. */
static int check_connection(PGconn *conn, const struct session_options *options, const char *said,
                            struct error *error)
{
    if (PQstatus(conn) != CONNECTION_OK)
        return refuse(conn, said, error);
    /* The start-up check saw the service file and the environment of its time; libpq may have read
     * other values since. */
    if (options->allow_plaintext || PQsslInUse(conn) || PQgssEncInUse(conn) ||
        !PQconnectionUsedPassword(conn) || !transport_is_remote(PQhostaddr(conn)))
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                    "database.url: the connection to %s is not encrypted, and a password was sent"
                    " over it",
                    PQhostaddr(conn));
    return error_hint(error,
                      "add sslmode=verify-full to database.url, or set allow_plaintext = true in"
                      " [database] if you trust this network");
}

/* Takes over `attempt`. */
static PGconn *run(struct bounded_call **late, struct attempt *attempt, int64_t limit_ms,
                   char said[sizeof attempt->refused], struct error *error)
{
    int64_t began_ms = clock_now_ms();
    int64_t waited_ms;
    PGconn *conn;

    switch (bounded_call_run(late, work, drop, attempt, began_ms + limit_ms)) {
    case BOUNDED_DONE:
        conn = attempt->conn;
        memcpy(said, attempt->refused, sizeof attempt->refused);
        attempt_free(attempt);
        if (conn == NULL)
            (void)error_no_memory(error);
        return conn;
    case BOUNDED_LATE: /* at the limit, or earlier in a hurry */
        waited_ms = clock_now_ms() - began_ms;
        (void)error_set(
            error, ERROR_TRANSIENT, ERROR_DATABASE,
            "database: no connection within %d s; a name lookup or the server may be hanging",
            (int)((waited_ms < limit_ms ? waited_ms + 999 : limit_ms) / 1000));
        (void)error_mark_unanswered(error);
        return NULL;
    case BOUNDED_BUSY:
        attempt_free(attempt);
        (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                        "database: the previous connection attempt is still running; a name lookup"
                        " or the server may be hanging");
        (void)error_mark_unanswered(error);
        return NULL;
    case BOUNDED_FAILED:
        break;
    }
    attempt_free(attempt);
    (void)error_set(error, ERROR_TRANSIENT, ERROR_SELF,
                    "database: cannot create a thread to connect");
    return NULL;
}

/* Sets session->conn. The hosts of the url are tried in turn, session->first_host first
 * (transport_turn_hosts()). While an attempt that timed out is still running, no other is started.
 */
static int connect_bounded(struct session *session, const struct session_options *options,
                           const char *name, struct error *error)
{
    struct attempt *attempt = calloc(1, sizeof *attempt);
    char said[sizeof attempt->refused];
    int64_t limit_ms;

    if (attempt == NULL || (attempt->url = strdup(options->url)) == NULL) {
        free(attempt);
        return error_no_memory(error);
    }
    (void)snprintf(attempt->application_name, sizeof attempt->application_name, "outbox-relay/%s",
                   name);
    limit_ms = set_timeout(attempt, error);
    if (limit_ms >= 0 && session->first_host > 0 &&
        transport_turn_hosts(&attempt->hosts, attempt->url, session->first_host) < 0)
        limit_ms = error_no_memory(error);
    if (limit_ms >= 0 && options->password_file != NULL) {
        attempt->password = read_password(options->password_file, error);
        if (attempt->password == NULL)
            limit_ms = -1;
    }
    if (limit_ms < 0) {
        attempt_free(attempt);
        return -1;
    }
    session->conn = run(&session->late, attempt, limit_ms, said, error);
    if (session->conn == NULL)
        return -1;
    if (check_connection(session->conn, options, said, error) < 0)
        return session_abort(session);
    if (PQsetnonblocking(session->conn, 1) == 0)
        return 0;
    (void)session_fail(session, NULL, error);
    return session_abort(session);
}

/* ---- a connection pooler between the session and its backend ----
 *
 * In session mode the session keeps its backend until it ends, as without a pooler. In transaction
 * mode each transaction may run in another backend. Settings that the relay makes there would
 * reach the application's transactions and the other way round, prepared statements would be
 * missing, and a session that flushes the WAL or listens would not be the one that was set up.
 *
 * Another connection sends a notification to the session while the session is idle. The
 * notification passes a pooler only if the session is linked to its backend between transactions,
 * which is what session mode means. The proof also holds if the pooler is several processes, or if
 * other clients keep it busy.
 */

/* A session is refused for good, so a pooler gets the time that a statement may take. */
#define PROOF_MS SESSION_STATEMENT_MS
#define BALANCED_TRIES 12 /* statements that a balancer of each would hardly send to one server */

/* Without a random part: in transaction mode LISTEN stays behind in a backend, once for each
 * backend. */
#define CHANNEL "outbox_relay_pooler"

static int notify(struct session *session, const struct session_options *options, const char *mark,
                  struct error *error)
{
    struct session other = {.late = session->late, .first_host = session->first_host};
    char sql[128];
    int status = connect_bounded(&other, options, "admin", error);

    (void)snprintf(sql, sizeof sql, "NOTIFY " CHANNEL ", '%s'", mark);
    if (status == 0)
        status = session_execute(&other, sql, error);
    session_close(&other);
    session->late = other.late;
    if (status < 0 && error->hint[0] == '\0')
        (void)error_hint(error, "the connection goes through a connection pooler, in which a relay"
                                " needs a pool_size of at least its lanes + 4");
    return status;
}

/* Returns 0 when the session has a backend of its own, or -1. Changes nothing that another client
 * of the pooler would notice, and opens a second connection for a moment. No setting may have been
 * made. */
static int check_pooler(struct session *session, const struct session_options *options,
                        struct error *error)
{
    const char *mark = session_expect_notification(session);
    struct error ignored;
    int proven = -1; /* 1: the notification has arrived; 0: it has not; -1: *error is set */

    if (session_execute(session, "LISTEN " CHANNEL, error) == 0 &&
        notify(session, options, mark, error) == 0)
        proven = session_await_notification(session, clock_now_ms() + PROOF_MS, error);
    session->notifications.arrived = 0;
    session->notifications.empty = 0;
    if (proven == 1)
        return session_execute(session, "UNLISTEN " CHANNEL, error);
    (void)session_execute(session, "UNLISTEN " CHANNEL, &ignored);
    if (proven < 0)
        return -1;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "database: the connection goes through a connection pooler in transaction mode:"
                    " each transaction may reach another backend, whose settings and prepared"
                    " statements are not the relay's");
    return error_hint(error, "connect to PostgreSQL directly, or to a pool with pool_mode ="
                             " session, in database.url");
}

/* ---- what every session reads and sets at its start ---- */

/* A warning of the server may say that a COMMIT did not wait for its synchronous standby. Such
 * warnings have a rate limit of their own, so that a trigger that raises many cannot hide them.
 * Warnings raised by a function come with a context, and may hold values of rows. */
static void on_notice(void *closure, const PGresult *result)
{
    static struct log_limit of_server = {.lines = "warnings of the database"};
    static struct log_limit of_functions = {.lines = "warnings of functions in the database"};
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    bool is_safe = session_says_no_value(result);
    bool is_of_server = is_safe && PQresultErrorField(result, PG_DIAG_CONTEXT) == NULL;

    (void)closure;
    if (severity == NULL || text == NULL || sqlstate == NULL || strcmp(severity, "WARNING") != 0)
        return;
    if (is_safe)
        log_limit_line(is_of_server ? &of_server : &of_functions, LOG_WARN, clock_now_ms(),
                       "database: %s", text);
    else
        log_limit_line(&of_functions, LOG_WARN, clock_now_ms(),
                       "database: a function warns (SQLSTATE %s); the database's log has its words",
                       sqlstate);
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
    session->backend_pid = strtol(PQgetvalue(result, 0, 1), NULL, 10);
    session->is_pooled = session->backend_pid != PQbackendPID(session->conn);
    PQclear(result);
    return session->schemas != NULL ? 0 : error_no_memory(error);
}

int session_check_backend(const struct session *session, const char *pid, struct error *error)
{
    if (strtol(pid, NULL, 10) == session->backend_pid)
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "database: the connection goes through a load balancer, which sends some"
                    " statements to another server");
    return error_hint(error,
                      "connect to the primary itself in database.url, or set load_balance_mode"
                      " = off in pgpool.conf");
}

/* A balancer sends to any server what only reads, as PostgreSQL says of STABLE functions, and to
 * the primary what calls a VOLATILE one. */
static int check_balancer(struct session *session, struct error *error)
{
    static const char *const statements[] = {
        "SELECT pg_catalog.pg_backend_pid()",
        "SELECT pg_catalog.pg_backend_pid(),"
        " pg_catalog.set_config('application_name', pg_catalog.current_setting('application_name'),"
        " true)"};
    int status = 0;

    for (int i = 0; i < BALANCED_TRIES && status == 0; i++) {
        PGresult *result = session_query(session, statements[i % 2], 0, NULL, error);

        status =
            result != NULL ? session_check_backend(session, PQgetvalue(result, 0, 0), error) : -1;
        PQclear(result);
    }
    return status;
}

/* A timestamp without time zone is read, and written, as one of this zone. */
static int set_time_zone(struct session *session, const struct session_options *options,
                         struct error *error)
{
    const char *params[1] = {options->time_zone != NULL ? options->time_zone : "UTC"};
    PGresult *result = session_query(session,
                                     "SELECT pg_catalog.set_config('TimeZone', $1, false),"
                                     " pg_catalog.pg_backend_pid()",
                                     1, params, error);
    int status =
        result != NULL ? session_check_backend(session, PQgetvalue(result, 0, 1), error) : -1;

    PQclear(result);
    if (status == 0)
        return 0;
    if (!error_is_sqlstate(error, "22023"))
        return -1;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "PostgreSQL does not know the time zone \"%s\"", params[0]);
    return error_hint(error, "SELECT name FROM pg_timezone_names; lists the names for [outbox]"
                             " time_zone");
}

/* The meaning of a literal and of an expression in our SQL and in [outbox] where, and the text of a
 * value, depend on these. A role or a database may set others. quote_all_identifiers is off because
 * types are compared by name. */
#define LANGUAGE                                                                                   \
    "SET standard_conforming_strings = on; SET transform_null_equals = off; SET array_nulls = on;" \
    "SET quote_all_identifiers = off; SET DateStyle = 'ISO'; SET IntervalStyle = 'postgres';"      \
    "SET bytea_output = 'hex'; SET extra_float_digits = 1; SET xmlbinary = 'base64';"              \
    "SET xmloption = 'content'; SET client_min_messages = 'warning';"                              \
    "SET lc_time = 'C'; SET lc_monetary = 'C'; SET lc_numeric = 'C';"                              \
    "SET default_text_search_config = 'pg_catalog.english';"

/* The keepalive settings make the server release the row locks of a relay whose host died.
 * transaction_timeout is off because it could end a transaction whose rows have been published
 * already. */
static int apply_settings(struct session *session, const struct session_options *options,
                          struct error *error)
{
    char sql[2048];
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
    if (connect_bounded(session, options, name, error) < 0)
        return -1;
    (void)PQsetNoticeReceiver(session->conn, on_notice, NULL);
    if (take_schemas(session, error) < 0 ||
        (session->is_pooled &&
         (check_pooler(session, options, error) < 0 || check_balancer(session, error) < 0)) ||
        apply_settings(session, options, error) < 0)
        return session_abort(session);
    return 0;
}
