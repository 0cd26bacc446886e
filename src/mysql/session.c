#include "mysql/session.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

/* Waits for what libmariadb wants. Returns what has come of it; -1 with the session closed. */
static int await(struct db_session *session, int wanted, struct error *error)
{
    struct pollfd socket = {.fd = (int)mysql_get_socket(session->conn)};
    int ready;

    if ((wanted & MYSQL_WAIT_READ) != 0)
        socket.events |= POLLIN;
    if ((wanted & MYSQL_WAIT_WRITE) != 0)
        socket.events |= POLLOUT;
    if ((wanted & MYSQL_WAIT_EXCEPT) != 0)
        socket.events |= POLLPRI;
    do {
        ready = poll(&socket, 1, clock_left_ms(session->deadline_ms));
    } while (ready < 0 && errno == EINTR);
    if (ready > 0)
        return wanted & (MYSQL_WAIT_READ | MYSQL_WAIT_WRITE | MYSQL_WAIT_EXCEPT);
    session->failure = DB_FAILURE_SESSION;
    db_close(session);
    (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE, "database: %s",
                    ready == 0 ? "no answer within the time limit" : strerror(errno));
    return error_mark_unanswered(error);
}

/* Runs a call of libmariadb to its end. `waits` is 0 then, or -1 as await() returns it. */
#define RUN_CALL(waits, session, error, start, go_on)                                              \
    do {                                                                                           \
        (session)->deadline_ms = clock_now_ms() + DB_WAIT_MS;                                      \
        (waits) = (start);                                                                         \
        while ((waits) > 0) {                                                                      \
            (waits) = await((session), (waits), (error));                                          \
            if ((waits) > 0)                                                                       \
                (waits) = (go_on);                                                                 \
        }                                                                                          \
    } while (0)

static int fail_closed(struct db_session *session, struct error *error)
{
    session->failure = DB_FAILURE_SESSION;
    (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE, "database: the connection was lost");
    return error_mark_unanswered(error);
}

int db_send(struct db_session *session, const char *sql, struct error *error)
{
    int failed = 0;
    int waits;

    if (session->conn == NULL)
        return fail_closed(session, error);
    RUN_CALL(waits, session, error,
             mysql_real_query_start(&failed, session->conn, sql, strlen(sql)),
             mysql_real_query_cont(&failed, session->conn, waits));
    if (waits < 0)
        return -1;
    return failed != 0 ? db_fail(session, NULL, error) : 0;
}

int db_next(struct db_session *session, struct error *error)
{
    int failed = 0;
    int waits;

    RUN_CALL(waits, session, error, mysql_next_result_start(&failed, session->conn),
             mysql_next_result_cont(&failed, session->conn, waits));
    if (waits < 0)
        return -1;
    return failed != 0 ? db_fail(session, NULL, error) : 0;
}

MYSQL_RES *db_rows(struct db_session *session, struct error *error)
{
    MYSQL_RES *rows = NULL;
    int waits;

    RUN_CALL(waits, session, error, mysql_store_result_start(&rows, session->conn),
             mysql_store_result_cont(&rows, session->conn, waits));
    if (waits == 0 && rows == NULL)
        (void)db_fail(session, NULL, error);
    return rows;
}

int db_stream(struct db_session *session, struct error *error)
{
    session->streamed = mysql_use_result(session->conn);
    return session->streamed != NULL ? 0 : db_fail(session, NULL, error);
}

/* Without its connection, the result has nothing left to read from it. */
static void end_stream(struct db_session *session)
{
    mysql_free_result(session->streamed);
    session->streamed = NULL;
}

int db_fetch(struct db_session *session, MYSQL_ROW *row, const unsigned long **lengths,
             struct error *error)
{
    int waits;

    RUN_CALL(waits, session, error, mysql_fetch_row_start(row, session->streamed),
             mysql_fetch_row_cont(row, session->streamed, waits));
    if (waits < 0)
        return -1;
    if (*row != NULL) {
        *lengths = mysql_fetch_lengths(session->streamed);
        return 1;
    }
    if (mysql_errno(session->conn) == 0) {
        end_stream(session);
        return 0;
    }
    return db_fail(session, NULL, error);
}

MYSQL_RES *db_query(struct db_session *session, const char *sql, struct error *error)
{
    return db_send(session, sql, error) == 0 ? db_rows(session, error) : NULL;
}

int64_t db_execute(struct db_session *session, const char *sql, struct error *error)
{
    if (db_send(session, sql, error) < 0)
        return -1;
    while (mysql_more_results(session->conn))
        if (db_next(session, error) < 0)
            return -1;
    return (int64_t)mysql_affected_rows(session->conn);
}

/* ---- prepared statements ---- */

/* NULL with *error set. */
static MYSQL_STMT *prepare(struct db_session *session, const char *sql, struct error *error)
{
    MYSQL_STMT *prepared = mysql_stmt_init(session->conn);
    int failed = 0;
    int waits;

    if (prepared == NULL) {
        (void)error_no_memory(error);
        return NULL;
    }
    session->preparing = prepared; /* db_close() closes it */
    RUN_CALL(waits, session, error, mysql_stmt_prepare_start(&failed, prepared, sql, strlen(sql)),
             mysql_stmt_prepare_cont(&failed, prepared, waits));
    if (waits < 0)
        return NULL;
    if (failed == 0) {
        session->preparing = NULL;
        return prepared;
    }
    (void)db_fail(session, prepared, error);
    if (session->conn != NULL) {
        (void)mysql_stmt_close(prepared);
        session->preparing = NULL;
    }
    return NULL;
}

static int64_t run(struct db_session *session, MYSQL_STMT *prepared, const struct text *params,
                   int count, struct error *error)
{
    MYSQL_BIND binds[4] = {0};
    int failed = 0;
    int waits;

    for (int i = 0; i < count; i++) {
        binds[i].buffer_type = params[i].data != NULL ? MYSQL_TYPE_STRING : MYSQL_TYPE_NULL;
        binds[i].buffer = (char *)params[i].data;
        binds[i].buffer_length = (unsigned long)params[i].len;
    }
    if (count > 0 && mysql_stmt_bind_param(prepared, binds) != 0)
        return db_fail(session, prepared, error);
    RUN_CALL(waits, session, error, mysql_stmt_execute_start(&failed, prepared),
             mysql_stmt_execute_cont(&failed, prepared, waits));
    if (waits < 0)
        return -1;
    return failed != 0 ? db_fail(session, prepared, error)
                       : (int64_t)mysql_stmt_affected_rows(prepared);
}

int64_t db_run(struct db_session *session, int statement, const struct text *params, int count,
               struct error *error)
{
    if (session->conn == NULL)
        return fail_closed(session, error);
    if (session->prepared[statement] == NULL)
        session->prepared[statement] = prepare(session, session->texts[statement], error);
    return session->prepared[statement] != NULL
               ? run(session, session->prepared[statement], params, count, error)
               : -1;
}

int64_t db_run_once(struct db_session *session, const char *sql, const struct text *params,
                    int count, struct error *error)
{
    int64_t affected = -1;

    if (session->conn == NULL)
        return fail_closed(session, error);
    session->once = prepare(session, sql, error);
    if (session->once != NULL)
        affected = run(session, session->once, params, count, error);
    if (session->conn != NULL && session->once != NULL)
        (void)mysql_stmt_close(session->once);
    session->once = NULL;
    return affected;
}

/* ---- what the connection is ---- */

bool db_is_in_transaction(const struct db_session *session)
{
    return session->conn != NULL && (session->conn->server_status & SERVER_STATUS_IN_TRANS) != 0;
}

int db_socket(const struct db_session *session)
{
    return session->conn != NULL ? (int)mysql_get_socket(session->conn) : -1;
}

bool db_is_cut_off(const struct db_session *session)
{
    struct pollfd end = {.fd = db_socket(session), .events = POLLRDHUP};

    return session->conn == NULL || poll(&end, 1, 0) > 0;
}
