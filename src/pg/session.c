#include "pg/session.h"

#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void session_close(struct session *session)
{
    PQfinish(session->conn);
    session->conn = NULL;
    free(session->schemas);
    session->schemas = NULL;
    session->in_transaction = false;
    session->in_flight = false;
    session->quotes_values = false;
}

int session_abort(struct session *session)
{
    session_close(session);
    return -1;
}

void session_end(struct session *session)
{
    session_close(session);
    bounded_call_forget(&session->late);
}

/* Waits for the socket. Returns 0, or -1 with the session closed. */
static int wait_for(struct session *session, short events, int64_t deadline_ms, struct error *error)
{
    struct pollfd socket = {.fd = PQsocket(session->conn), .events = events};
    int ready;

    do {
        ready = poll(&socket, 1, clock_left_ms(deadline_ms));
    } while (ready < 0 && errno == EINTR);
    if (ready > 0)
        return 0;
    session_close(session);
    (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE, "database: %s",
                    ready == 0 ? "no answer within the time limit" : strerror(errno));
    return error_mark_unanswered(error);
}

static int fail_and_close(struct session *session, struct error *error)
{
    (void)session_fail(session, NULL, error);
    return session_abort(session);
}

static int flush(struct session *session, int64_t deadline_ms, struct error *error)
{
    for (;;) {
        int pending = PQflush(session->conn);

        if (pending == 0)
            return 0;
        if (pending < 0)
            return fail_and_close(session, error);
        /* A server whose results we do not read may stop reading what we send, so read too. */
        if (wait_for(session, POLLIN | POLLOUT, deadline_ms, error) < 0)
            return -1;
        if (PQconsumeInput(session->conn) == 0)
            return fail_and_close(session, error);
    }
}

void session_count_notifications(struct session *session)
{
    PGnotify *note;

    while ((note = PQnotifies(session->conn)) != NULL) {
        session->notifications.arrived++;
        session->notifications.empty += note->extra[0] == '\0';
        if (note->extra[0] != '\0' && strcmp(note->extra, session->notifications.awaited) == 0)
            session->notifications.has_awaited = true;
        if (session->notifications.on_arrival != NULL)
            session->notifications.on_arrival(session->notifications.closure, note->relname,
                                              note->extra, note->be_pid);
        PQfreemem(note);
    }
}

static int wait_for_result(struct session *session, int64_t deadline_ms, struct error *error)
{
    while (PQisBusy(session->conn)) {
        if (wait_for(session, POLLIN, deadline_ms, error) < 0)
            return -1;
        if (PQconsumeInput(session->conn) == 0)
            return fail_and_close(session, error);
        session_count_notifications(session);
    }
    return 0;
}

/* Returns the next result, and skips the NULL between two statements. */
static PGresult *next_result(struct session *session, int64_t deadline_ms, struct error *error)
{
    PGresult *result = NULL;

    for (int i = 0; i < 2 && result == NULL; i++) {
        if (wait_for_result(session, deadline_ms, error) < 0)
            return NULL;
        result = PQgetResult(session->conn);
    }
    if (result == NULL || (PQstatus(session->conn) == CONNECTION_BAD)) {
        (void)session_fail(session, result, error);
        error->kind = ERROR_TRANSIENT;
        PQclear(result);
        session_close(session);
        return NULL;
    }
    return result;
}

static int64_t answer_deadline_ms(const struct session *session)
{
    return clock_now_ms() + (session->wait_ms > 0 ? session->wait_ms : SESSION_WAIT_MS);
}

static int send_and_flush(struct session *session, int sent, struct error *error)
{
    if (session->conn == NULL || !sent)
        return session->conn == NULL ? session_fail(session, NULL, error)
                                     : fail_and_close(session, error);
    return flush(session, answer_deadline_ms(session), error);
}

/* Reads all results of a statement. Returns the first error, or else the last result. */
static PGresult *collect(struct session *session, struct error *error)
{
    int64_t deadline_ms = answer_deadline_ms(session);
    PGresult *kept = NULL;

    for (;;) {
        PGresult *result;

        if (wait_for_result(session, deadline_ms, error) < 0) {
            PQclear(kept);
            return NULL;
        }
        result = PQgetResult(session->conn);
        if (result == NULL)
            return kept;
        if (kept != NULL && PQresultStatus(kept) == PGRES_FATAL_ERROR) {
            PQclear(result);
        } else {
            PQclear(kept);
            kept = result;
        }
    }
}

static PGresult *finish(struct session *session, struct error *error)
{
    PGresult *result = collect(session, error);
    ExecStatusType status = PQresultStatus(result);

    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        return result;
    if (session->conn != NULL)
        (void)session_fail(session, result, error);
    if (session->conn != NULL && PQstatus(session->conn) == CONNECTION_BAD)
        session_close(session);
    PQclear(result);
    return NULL;
}

/* Statements do not run alone in pipeline mode, which ends only when all answers were read. */
static bool leave_pipeline(struct session *session)
{
    return session->conn != NULL && PQexitPipelineMode(session->conn) == 1;
}

PGresult *session_query_formats(struct session *session, const char *sql, int param_count,
                                const char *const *params, const int *lengths, const int *formats,
                                struct error *error)
{
    int sent = leave_pipeline(session) && PQsendQueryParams(session->conn, sql, param_count, NULL,
                                                            params, lengths, formats, 0);

    return send_and_flush(session, sent, error) < 0 ? NULL : finish(session, error);
}

PGresult *session_query(struct session *session, const char *sql, int param_count,
                        const char *const *params, struct error *error)
{
    return session_query_formats(session, sql, param_count, params, NULL, NULL, error);
}

int session_command(struct session *session, const char *sql, int param_count,
                    const char *const *params, struct error *error)
{
    PGresult *result = session_query(session, sql, param_count, params, error);

    PQclear(result);
    return result != NULL ? 0 : -1;
}

int session_execute(struct session *session, const char *sql, struct error *error)
{
    int sent = leave_pipeline(session) && PQsendQuery(session->conn, sql);
    PGresult *result = NULL;

    if (send_and_flush(session, sent, error) == 0)
        result = finish(session, error);
    PQclear(result);
    return result != NULL ? 0 : -1;
}

/* By default PostgreSQL would plan each claim anew with its parameters, which costs five times as
 * much as starting the generic plan. */
int session_force_generic_plans(struct session *session, struct error *error)
{
    return session_execute(session, "SET plan_cache_mode = force_generic_plan", error);
}

/* ---- pipelines ---- */

/* Does nothing in pipeline mode. */
static bool enter_pipeline(struct session *session)
{
    return session->conn != NULL && PQenterPipelineMode(session->conn) == 1;
}

int session_prepare(struct session *session, const char *name, char *sql, struct error *error)
{
    int sent =
        sql != NULL && enter_pipeline(session) && PQsendPrepare(session->conn, name, sql, 0, NULL);

    free(sql);
    if (sql == NULL)
        return error_no_memory(error);
    return sent ? 0 : fail_and_close(session, error);
}

int session_read_prepared(struct session *session, struct error *error)
{
    return session_sync(session, error) == 0 && session_finish(session, error) > 0 ? 0 : -1;
}

int session_queue(struct session *session, const char *statement, int param_count,
                  const struct array *params, bool binary, struct error *error)
{
    enum { PARAMS_MAX = 9 };
    const char *values[PARAMS_MAX] = {NULL};
    int lengths[PARAMS_MAX] = {0};
    int formats[PARAMS_MAX] = {0};

    for (int i = 0; i < param_count; i++) {
        values[i] = params[i].bytes;
        lengths[i] = (int)params[i].len;
        formats[i] = 1;
    }
    if (enter_pipeline(session) && PQsendQueryPrepared(session->conn, statement, param_count,
                                                       values, lengths, formats, binary) == 1)
        return 0;
    return fail_and_close(session, error);
}

int session_request_flush(struct session *session, struct error *error)
{
    return PQsendFlushRequest(session->conn) == 1 ? 0 : fail_and_close(session, error);
}

int session_sync(struct session *session, struct error *error)
{
    if (PQpipelineSync(session->conn) != 1)
        return fail_and_close(session, error);
    return flush(session, answer_deadline_ms(session), error);
}

/* A cast to regclass, a jsonpath or a function's own error may raise what is otherwise said of a
 * statement. PostgreSQL plans a statement anew in RevalidateCachedQuery(). */
static bool is_of_value(const PGresult *result, const char *sqlstate)
{
    static const char *const classes[] = {"0A", "3F", "42"};
    const char *source = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
    bool is = false;

    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        is = is || strncmp(sqlstate, classes[i], 2) == 0;
    return is && (strcmp(sqlstate, "42501") != 0 || !session_says_no_value(result)) &&
           !session_blames_statement(result) &&
           (source == NULL || strcmp(source, "RevalidateCachedQuery") != 0);
}

/* Classes in `not_rows` are about the connection, the transaction, the catalog, permissions,
 * resources or the server, not about a row. The exceptions in `rows` are query_canceled, which here
 * means statement_timeout, and out_of_memory. */
static enum failure classify_failure(const struct session *session, const PGresult *result)
{
    static const char *const not_rows[] = {"08", "0A", "25", "26", "28", "2D", "3D", "3F",
                                           "40", "42", "53", "55", "57", "58", "F0", NULL};
    static const char *const rows[] = {"57014", "53200", NULL};
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (sqlstate == NULL)
        return FAILURE_OTHER;
    if (strcmp(sqlstate, "55P03") == 0)
        return FAILURE_LOCKED;
    if (strncmp(sqlstate, "XX", 2) == 0)
        return FAILURE_DAMAGED;
    if (session->computes_values && is_of_value(result, sqlstate))
        return FAILURE_ROW;
    for (int i = 0; rows[i] != NULL; i++)
        if (strcmp(sqlstate, rows[i]) == 0)
            return FAILURE_ROW;
    for (int i = 0; not_rows[i] != NULL; i++)
        if (strncmp(sqlstate, not_rows[i], 2) == 0)
            return FAILURE_OTHER;
    return FAILURE_ROW;
}

static void note_failure(struct session *session, const PGresult *result, struct error *error)
{
    session->failure = classify_failure(session, result);
    (void)session_fail(session, result, error);
}

PGresult *session_answer(struct session *session, ExecStatusType status, struct error *error)
{
    PGresult *result = next_result(session, answer_deadline_ms(session), error);

    session->failure = result != NULL ? FAILURE_NONE : FAILURE_OTHER;
    if (result == NULL || PQresultStatus(result) == status)
        return result;
    note_failure(session, result, error);
    PQclear(result);
    return NULL;
}

int session_check(struct session *session, ExecStatusType status, struct error *error)
{
    PGresult *result = session_answer(session, status, error);

    PQclear(result);
    return result != NULL ? 0 : -1;
}

int session_read_last(struct session *session, PGresult **last, struct error *error)
{
    int64_t deadline_ms = answer_deadline_ms(session);
    PGresult *result;

    *last = NULL;
    session->failure = FAILURE_OTHER;
    if (PQsetSingleRowMode(session->conn) != 1)
        return fail_and_close(session, error);
    while (PQresultStatus(result = next_result(session, deadline_ms, error)) ==
           PGRES_SINGLE_TUPLE) {
        PQclear(*last);
        *last = result;
    }
    if (result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK)
        session->failure = FAILURE_NONE;
    else if (result != NULL)
        note_failure(session, result, error);
    PQclear(result);
    return session->failure == FAILURE_NONE ? 0 : -1;
}

PGresult *session_expect(struct session *session, ExecStatusType status, struct error *error)
{
    PGresult *result = session_answer(session, status, error);

    if (result == NULL)
        session_close(session);
    return result;
}

int session_skip(struct session *session, ExecStatusType status, struct error *error)
{
    return session_check(session, status, error) == 0 ? 0 : session_abort(session);
}

/* In a failed transaction the server answers COMMIT with "ROLLBACK", which libpq does not report as
 * an error. */
int session_read_commit(struct session *session, struct error *error)
{
    PGresult *result = session_answer(session, PGRES_COMMAND_OK, error);
    bool committed = result != NULL && strcmp(PQcmdStatus(result), "COMMIT") == 0;

    PQclear(result);
    if (committed)
        session->in_transaction = false;
    else if (result != NULL)
        (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                        "database: the transaction was rolled back");
    return committed ? 0 : -1;
}

int session_finish(struct session *session, struct error *error)
{
    int64_t deadline_ms = answer_deadline_ms(session);
    ExecStatusType status;

    session->failure = FAILURE_NONE;
    do {
        PGresult *result = next_result(session, deadline_ms, error);

        if (result == NULL)
            return -1;
        status = PQresultStatus(result);
        if (status == PGRES_FATAL_ERROR) /* what follows it is PGRES_PIPELINE_ABORTED */
            note_failure(session, result, error);
        PQclear(result);
    } while (status != PGRES_PIPELINE_SYNC);
    return session->failure == FAILURE_NONE;
}

PGresult *session_run(struct session *session, const char *statement, int param_count,
                      const struct array *params, struct error *error)
{
    PGresult *result;

    if (session_queue(session, statement, param_count, params, false, error) < 0 ||
        session_sync(session, error) < 0)
        return NULL;
    result = session_expect(session, PGRES_TUPLES_OK, error);
    if (result != NULL && session_skip(session, PGRES_PIPELINE_SYNC, error) < 0) {
        PQclear(result);
        return NULL;
    }
    return result;
}

int session_end_transaction(struct session *session, bool commit, struct error *error)
{
    if (session_queue(session, commit ? "commit" : "rollback", 0, NULL, false, error) < 0 ||
        session_sync(session, error) < 0 || session_skip(session, PGRES_COMMAND_OK, error) < 0 ||
        session_skip(session, PGRES_PIPELINE_SYNC, error) < 0)
        return -1;
    session->in_transaction = false;
    return 0;
}

int session_roll_back(struct session *session, struct error *error)
{
    return session_finish(session, error) < 0 ? -1 : session_end_transaction(session, false, error);
}

/* ---- notifications ---- */

int session_read_input(struct session *session, struct error *error)
{
    if (PQconsumeInput(session->conn) == 0)
        return session_fail(session, NULL, error);
    session_count_notifications(session);
    return 0;
}

int session_wait_for_input(struct session *session, int64_t deadline_ms, struct error *error)
{
    struct pollfd socket = {.fd = PQsocket(session->conn), .events = POLLIN};
    int ready;

    do {
        ready = poll(&socket, 1, clock_left_ms(deadline_ms));
    } while (ready < 0 && errno == EINTR);
    if (ready > 0)
        return session_read_input(session, error) < 0 ? -1 : 1;
    return ready == 0 ? 0
                      : error_set(error, ERROR_TRANSIENT, ERROR_SELF, "poll: %s", strerror(errno));
}

const char *session_expect_notification(struct session *session)
{
    session->notifications.has_awaited = false;
    (void)snprintf(session->notifications.awaited, sizeof session->notifications.awaited,
                   "%d at %" PRId64 " for %p", (int)getpid(), clock_now_us(),
                   (const void *)session->conn);
    return session->notifications.awaited;
}

int session_await_notification(struct session *session, int64_t deadline_ms, struct error *error)
{
    int status = 1;

    session_count_notifications(session);
    while (status > 0 && !session->notifications.has_awaited)
        status = session_wait_for_input(session, deadline_ms, error);
    return status;
}

/* ---- what the connection is ---- */

const char *session_role(const struct session *session)
{
    return PQuser(session->conn);
}

const char *session_database(const struct session *session)
{
    return PQdb(session->conn);
}

const char *session_encoding(const struct session *session)
{
    const char *encoding = PQparameterStatus(session->conn, "server_encoding");

    return encoding != NULL ? encoding : "(unknown)";
}

int session_server_version(const struct session *session)
{
    return PQserverVersion(session->conn);
}

int session_socket(const struct session *session)
{
    return PQsocket(session->conn);
}

bool session_is_cut_off(const struct session *session)
{
    struct pollfd end = {.fd = PQsocket(session->conn), .events = POLLRDHUP};

    return poll(&end, 1, 0) > 0;
}

bool session_is_in_transaction(const struct session *session)
{
    return session->conn != NULL && PQtransactionStatus(session->conn) == PQTRANS_INTRANS;
}

bool session_has_failed_transaction(const struct session *session)
{
    return PQtransactionStatus(session->conn) == PQTRANS_INERROR;
}

/* POSIX lets free() release what PQfreemem() does. */
char *session_quote_name(const struct session *session, const char *name)
{
    return PQescapeIdentifier(session->conn, name, strlen(name));
}
