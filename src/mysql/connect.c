/*
 * Opens a session: connects on a thread of its own, which is given up at a deadline, because a name
 * lookup and a TLS handshake may never return; then makes the settings of the session.
 */
#include "base/clock.h"
#include "base/secret.h"
#include "mysql/session.h"
#include "mysql/url.h"

#include <inttypes.h>
#include <mysqld_error.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_S 5 /* of each address */
#define ADDRESSES_PER_HOST 4
#define MARGIN_MS 1000
#define MARIADB_MIN 100600
#define MYSQL_MIN 80004
#define IDLE_S_MIN 40 /* a lane that has nothing to do looks after its session every 30 s */

/* The parameters and the result of one attempt. It may outlive the caller. */
struct attempt {
    struct url url;
    char *password; /* of the password file; NULL: none */
    char name[64];
    int first_host;
    MYSQL *conn;
    int host; /* that it has reached */
};

static void attempt_free(struct attempt *attempt)
{
    url_free(&attempt->url);
    secret_free(attempt->password);
    free(attempt);
}

static void drop(void *argument)
{
    struct attempt *attempt = argument;

    if (attempt->conn != NULL)
        mysql_close(attempt->conn);
    attempt_free(attempt);
}

static void set_options(const struct attempt *attempt, MYSQL *conn)
{
    const struct url *url = &attempt->url;
    unsigned timeout_s = TIMEOUT_S;
    my_bool verify = url->is_encrypted;

    (void)mysql_optionsv(conn, MYSQL_OPT_NONBLOCK, 0);
    (void)mysql_optionsv(conn, MYSQL_OPT_CONNECT_TIMEOUT, &timeout_s);
    (void)mysql_optionsv(conn, MYSQL_OPT_READ_TIMEOUT, &timeout_s);
    (void)mysql_optionsv(conn, MYSQL_OPT_WRITE_TIMEOUT, &timeout_s);
    (void)mysql_optionsv(conn, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    (void)mysql_optionsv(conn, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", attempt->name);
    (void)mysql_optionsv(conn, MYSQL_OPT_SSL_ENFORCE, &verify);
    (void)mysql_optionsv(conn, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
    if (url->ssl_ca != NULL)
        (void)mysql_optionsv(conn, MYSQL_OPT_SSL_CA, url->ssl_ca);
    if (url->ssl_cert != NULL)
        (void)mysql_optionsv(conn, MYSQL_OPT_SSL_CERT, url->ssl_cert);
    if (url->ssl_key != NULL)
        (void)mysql_optionsv(conn, MYSQL_OPT_SSL_KEY, url->ssl_key);
}

/* Tries the hosts in turn. Of the last one that cannot be reached the connection keeps the error.
 */
static void work(void *argument)
{
    struct attempt *attempt = argument;
    const struct url *url = &attempt->url;
    const char *password = attempt->password != NULL ? attempt->password : url->password;

    for (int i = 0; i < url->host_count; i++) {
        attempt->host = (attempt->first_host + i) % url->host_count;
        if (attempt->conn != NULL)
            mysql_close(attempt->conn);
        attempt->conn = mysql_init(NULL);
        if (attempt->conn == NULL)
            return;
        set_options(attempt, attempt->conn);
        if (mysql_real_connect(attempt->conn, url->hosts[attempt->host], url->user, password,
                               url->database, url->ports[attempt->host], url->socket,
                               CLIENT_FOUND_ROWS | CLIENT_MULTI_STATEMENTS) != NULL)
            return;
    }
    mysql_thread_end();
}

static void init_library(void)
{
    (void)mysql_library_init(0, NULL, NULL);
}

/* NULL with *error set. */
static struct attempt *prepare(const struct db_session *session,
                               const struct outbox_options *options, const char *name,
                               struct error *error)
{
    struct attempt *attempt = calloc(1, sizeof *attempt);
    char problem[URL_PROBLEM_BYTES];
    struct error cause;

    if (attempt == NULL) {
        (void)error_no_memory(error);
        return NULL;
    }
    attempt->first_host = session->first_host;
    (void)snprintf(attempt->name, sizeof attempt->name, "outbox-relay/%s", name);
    if (url_parse(&attempt->url, options->url, problem) < 0) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "database.url %s", problem);
    } else if (options->password_file != NULL &&
               (attempt->password = secret_read(options->password_file, &cause)) == NULL) {
        (void)error_set(error, cause.kind, cause.origin, "database.password_file %s", cause.text);
    } else if (attempt->url.is_remote && !attempt->url.is_encrypted && !options->allow_plaintext &&
               (attempt->password != NULL || attempt->url.password != NULL)) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                        "database.url would send a password over a network without TLS");
        (void)error_hint(error, "leave ssl-mode=DISABLED out, or set allow_plaintext = true");
    } else {
        return attempt;
    }
    attempt_free(attempt);
    return NULL;
}

static int connect_by_deadline(struct db_session *session, struct attempt *attempt,
                               struct error *error)
{
    int64_t limit_ms = (int64_t)TIMEOUT_S * 1000 * attempt->url.host_count * ADDRESSES_PER_HOST;
    enum bounded_result result = bounded_call_run(&session->late, work, drop, attempt,
                                                  clock_now_ms() + limit_ms + MARGIN_MS);

    if (result == BOUNDED_LATE || result == BOUNDED_BUSY) {
        (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                        "database: no connection within the time limit");
        (void)error_mark_unanswered(error);
    }
    if (result == BOUNDED_BUSY || result == BOUNDED_FAILED)
        attempt_free(attempt);
    if (result == BOUNDED_FAILED)
        (void)error_no_memory(error);
    if (result != BOUNDED_DONE)
        return -1;
    session->conn = attempt->conn;
    session->first_host = attempt->host;
    attempt_free(attempt);
    if (session->conn == NULL)
        return error_no_memory(error);
    if (mysql_errno(session->conn) != 0) {
        session->first_host++; /* modulo the number of hosts, when it is used */
        (void)db_fail(session, NULL, error);
        return db_abort(session);
    }
    return 0;
}

static int check_version(struct db_session *session, struct error *error)
{
    session->is_mariadb = mariadb_connection(session->conn);
    session->version = (unsigned)mysql_get_server_version(session->conn);
    if (session->version >= (session->is_mariadb ? MARIADB_MIN : MYSQL_MIN))
        return 0;
    return error_set(
        error, ERROR_PERMANENT, ERROR_DATABASE,
        "database: the server is %s %s; at least MariaDB 10.6 or MySQL 8.0.4 is needed",
        session->is_mariadb ? "MariaDB" : "MySQL", mysql_get_server_info(session->conn));
}

/* MySQL limits neither an idle transaction nor a statement that writes, so that a session which
 * waits ends after a while. */
static int make_settings(struct db_session *session, int64_t idle_ms, struct error *error)
{
    int64_t idle_s = (idle_ms + 999) / 1000;
    char sql[640];
    int len;

    len = snprintf(sql, sizeof sql,
                   "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;"
                   " SET SESSION autocommit = 1, innodb_lock_wait_timeout = %d,"
                   " lock_wait_timeout = %d, time_zone = '+00:00',"
                   " sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION',"
                   " sql_safe_updates = 0, sql_select_limit = DEFAULT",
                   DB_LOCK_S, DB_LOCK_S);
    if (session->is_mariadb)
        (void)snprintf(sql + len, sizeof sql - (size_t)len,
                       ", max_statement_time = %d, idle_transaction_timeout = %" PRId64,
                       DB_STATEMENT_MS / 1000, idle_s);
    else
        (void)snprintf(sql + len, sizeof sql - (size_t)len,
                       ", max_execution_time = %d, wait_timeout = %" PRId64
                       ", information_schema_stats_expiry = 0",
                       DB_STATEMENT_MS, idle_s > IDLE_S_MIN ? idle_s : IDLE_S_MIN);
    return db_execute(session, sql, error) < 0 ? -1 : 0;
}

int db_open(struct db_session *session, const struct outbox_options *options, int64_t idle_ms,
            const char *name, struct error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct attempt *attempt;

    (void)pthread_once(&once, init_library);
    attempt = prepare(session, options, name, error);
    if (attempt == NULL || connect_by_deadline(session, attempt, error) < 0)
        return -1;
    if (check_version(session, error) < 0 || make_settings(session, idle_ms, error) < 0)
        return db_abort(session);
    return 0;
}
