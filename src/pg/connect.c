#include "pg/connect.h"

#include "base/clock.h"
#include "base/secret.h"
#include "pg/conninfo.h"
#include "pg/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESSES_A_HOST 8 /* as many as get their time */
#define TIMEOUT_S_MAX 3600
#define MARGIN_MS 1000 /* so that libpq itself says first that the time is over */

/* What libpq is given, a copy, because it may outlive the caller; and what it makes of it. */
struct attempt {
    char *url;
    char *password; /* NULL: not from a file */
    char application_name[80];
    char timeout[24];
    PGconn *conn;
};

/* Read anew at each connect, so that a rotated password is seen. NULL with *error set. */
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
    free(attempt);
}

static void drop(void *argument)
{
    struct attempt *attempt = argument;

    PQfinish(attempt->conn);
    attempt_free(attempt);
}

/* Defaults come before the url, whose own words win; what stands after it wins over the url. */
static void work(void *argument)
{
    struct attempt *attempt = argument;
    const char *keywords[] = {"keepalives_idle",
                              "keepalives_interval",
                              "keepalives_count",
                              "tcp_user_timeout",
                              "client_encoding",
                              "target_session_attrs",
                              "application_name",
                              "dbname",
                              "connect_timeout",
                              attempt->password != NULL ? "password" : NULL,
                              NULL};
    const char *values[] = {"10",
                            "5",
                            "3",
                            "15000",
                            "UTF8",
                            "read-write",
                            attempt->application_name,
                            attempt->url,
                            attempt->timeout,
                            attempt->password,
                            NULL};

    attempt->conn = PQconnectdbParams(keywords, values, 1);
}

/* Sets the time for each address. Returns how long all addresses may take, in ms, or -1. */
static int64_t set_timeout(struct attempt *attempt, struct error *error)
{
    char problem[CONNINFO_PROBLEM_BYTES];
    struct transport transport;
    long timeout_s;

    if (conninfo_check(attempt->url, problem) < 0)
        return error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "database.url: %s", problem);
    if (transport_resolve(&transport, attempt->url) < 0)
        transport.hosts = 1;
    timeout_s = transport.connect_timeout_s > 0 ? transport.connect_timeout_s : CONNECT_S;
    if (timeout_s > TIMEOUT_S_MAX)
        timeout_s = TIMEOUT_S_MAX;
    (void)snprintf(attempt->timeout, sizeof attempt->timeout, "%ld", timeout_s);
    return (int64_t)timeout_s * 1000 * transport.hosts * ADDRESSES_A_HOST + MARGIN_MS;
}

struct refusal {
    const char *says;
    const char *fix; /* NULL: it says enough */
};

/* What libpq or a server says that no waiting mends, and what to change. libpq 15 gives a failed
 * connection no SQLSTATE; a translated message is taken for transient, and waited for. */
static const struct refusal refusals[] = {
    {"certificate verify failed", "the server's certificate has expired, or its authority is not in"
                                  " the file of sslrootcert=FILE in database.url"},
    {"does not match host name", "write the host that the certificate names in database.url;"
                                 " hostaddr=ADDRESS may say where it is"},
    {"root certificate file", "write sslrootcert=FILE in database.url, with the certificate of the"
                              " server's authority"},
    {"server does not support SSL", "turn ssl on at the server (ssl = on in postgresql.conf): the"
                                    " sslmode in database.url asks for it"},
    {"requires a valid client certificate", "write sslcert=FILE sslkey=FILE in database.url"},
    {"certificate authentication failed", "the certificate of sslcert=FILE in database.url must be"
                                          " in the name (CN) of the role"},
    {"alert unknown ca", "the server does not know who signed the certificate of sslcert=FILE in"
                         " database.url (ssl_ca_file in postgresql.conf)"},
    {"private key file", "sslkey=FILE in database.url must be the key of sslcert=FILE, and nobody"
                         " else's to read"},
    {"password authentication failed", "the password is that of database.password_file, or of the"
                                       " url, the pass file or PGPASSWORD"},
    {"no password supplied", "name a file that holds the password as password_file in [database]"},
    {"pg_hba.conf", "the server's pg_hba.conf has no line for this role from this host; a"
                    " hostssl line needs sslmode=verify-full in database.url"},
    {"definition of service", "service=NAME in database.url, or PGSERVICE: PGSERVICEFILE says which"
                              " file holds it"},
    {"service file", "PGSERVICEFILE names the file of service=NAME in database.url"},
    {"authentication failed", NULL},
    {"\" does not exist", NULL},
    {"permission denied for", NULL},
    {"is not permitted to log in", NULL},
    {"invalid port number", NULL},
    {"invalid sslmode value", NULL},
};

static int refuse(const PGconn *conn, struct error *error)
{
    const char *text = PQerrorMessage(conn);

    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (strstr(text, refusals[i].says) == NULL)
            continue;
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "database: %s", text);
        return refusals[i].fix != NULL ? error_hint(error, "%s", refusals[i].fix) : -1;
    }
    return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE, "database: %s", text);
}

/* 0, or -1: what libpq made is no connection. */
static int judge(PGconn *conn, const struct session_options *options, struct error *error)
{
    if (PQstatus(conn) != CONNECTION_OK)
        return refuse(conn, error);
    /* The configuration's check could not foresee other files and variables than at the start. */
    if (options->allow_plaintext || PQsslInUse(conn) || PQgssEncInUse(conn) ||
        !PQconnectionUsedPassword(conn) || !transport_is_remote(PQhostaddr(conn)))
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                    "database.url: the connection to %s is not encrypted, and a password went over"
                    " it",
                    PQhostaddr(conn));
    return error_hint(error, "write sslmode=verify-full, or allow_plaintext = true in [database] to"
                             " say that this network is trusted");
}

/* Takes over `attempt`. */
static PGconn *run(struct bounded_call **late, struct attempt *attempt, int64_t limit_ms,
                   struct error *error)
{
    PGconn *conn;

    switch (bounded_call_run(late, work, drop, attempt, clock_now_ms() + limit_ms)) {
    case BOUNDED_DONE:
        conn = attempt->conn;
        attempt_free(attempt);
        if (conn == NULL)
            (void)error_no_memory(error);
        return conn;
    case BOUNDED_LATE:
        (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                        "database: no connection after %d s; a name lookup or a server may hang",
                        (int)(limit_ms / 1000));
        return NULL;
    case BOUNDED_BUSY:
        attempt_free(attempt);
        (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                        "database: the connection before has not ended; a name lookup or a server"
                        " may hang");
        return NULL;
    case BOUNDED_FAILED:
        break;
    }
    attempt_free(attempt);
    (void)error_set(error, ERROR_TRANSIENT, ERROR_SELF, "database: no thread to connect on");
    return NULL;
}

PGconn *connect_open(struct bounded_call **late, const struct session_options *options,
                     const char *name, struct error *error)
{
    struct attempt *attempt = calloc(1, sizeof *attempt);
    int64_t limit_ms;
    PGconn *conn;

    if (attempt == NULL || (attempt->url = strdup(options->url)) == NULL) {
        free(attempt);
        (void)error_no_memory(error);
        return NULL;
    }
    (void)snprintf(attempt->application_name, sizeof attempt->application_name, "outbox-relay/%s",
                   name);
    limit_ms = set_timeout(attempt, error);
    if (limit_ms >= 0 && options->password_file != NULL) {
        attempt->password = read_password(options->password_file, error);
        if (attempt->password == NULL)
            limit_ms = -1;
    }
    if (limit_ms < 0) {
        attempt_free(attempt);
        return NULL;
    }
    conn = run(late, attempt, limit_ms, error);
    if (conn != NULL && judge(conn, options, error) < 0) {
        PQfinish(conn);
        return NULL;
    }
    return conn;
}
