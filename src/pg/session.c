#include "pg/session.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SQLSTATE classes that may go away by themselves (PostgreSQL manual, appendix A). */
static const char *const transient_states[] = {"08", "53", "57", "58", "40",
                                               "55", "25", "XX", NULL};

static bool is_transient(const char *sqlstate)
{
    for (int i = 0; transient_states[i] != NULL; i++)
        if (strncmp(sqlstate, transient_states[i], strlen(transient_states[i])) == 0)
            return true;
    return false;
}

int session_fail(const struct session *session, const PGresult *result, struct error *error)
{
    const char *sqlstate = result != NULL ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *text = result != NULL ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    const char *hint = result != NULL ? PQresultErrorField(result, PG_DIAG_MESSAGE_HINT) : NULL;

    if (text == NULL)
        text = session->conn != NULL ? PQerrorMessage(session->conn) : "connection closed";
    if (sqlstate == NULL)
        return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE, "database: %s", text);
    (void)error_set(error, is_transient(sqlstate) ? ERROR_TRANSIENT : ERROR_PERMANENT,
                    ERROR_DATABASE, "database: %.700s (SQLSTATE %s)", text, sqlstate);
    (void)snprintf(error->sqlstate, sizeof error->sqlstate, "%s", sqlstate);
    if (hint != NULL)
        (void)error_hint(error, "%s", hint);
    return -1;
}

void session_close(struct session *session)
{
    PQfinish(session->conn);
    session->conn = NULL;
    free(session->schemas);
    session->schemas = NULL;
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
    return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE, "database: %s",
                     ready == 0 ? "no answer within the time limit" : strerror(errno));
}

static int fail_and_close(struct session *session, struct error *error)
{
    (void)session_fail(session, NULL, error);
    session_close(session);
    return -1;
}

int session_flush(struct session *session, int64_t deadline_ms, struct error *error)
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
        if (session->notifications.awaited != NULL &&
            strcmp(note->extra, session->notifications.awaited) == 0)
            session->notifications.has_awaited = true;
        if (session->notifications.on_arrival != NULL)
            session->notifications.on_arrival(session->notifications.closure, note->relname,
                                              note->extra, note->be_pid);
        PQfreemem(note);
    }
}

int session_await_notification(struct session *session, int64_t deadline_ms, struct error *error)
{
    session_count_notifications(session);
    while (!session->notifications.has_awaited) {
        struct pollfd socket = {.fd = PQsocket(session->conn), .events = POLLIN};
        int ready = poll(&socket, 1, clock_left_ms(deadline_ms));

        if (ready == 0)
            return 0;
        if (ready > 0 && PQconsumeInput(session->conn) == 0)
            return session_fail(session, NULL, error);
        session_count_notifications(session);
    }
    return 1;
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

PGresult *session_next(struct session *session, int64_t deadline_ms, struct error *error)
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
    return session_flush(session, answer_deadline_ms(session), error);
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

PGresult *session_query_formats(struct session *session, const char *sql, int param_count,
                                const char *const *params, const int *lengths, const int *formats,
                                struct error *error)
{
    int sent = session->conn != NULL && PQsendQueryParams(session->conn, sql, param_count, NULL,
                                                          params, lengths, formats, 0);

    if (send_and_flush(session, sent, error) < 0)
        return NULL;
    return finish(session, error);
}

PGresult *session_query(struct session *session, const char *sql, int param_count,
                        const char *const *params, struct error *error)
{
    return session_query_formats(session, sql, param_count, params, NULL, NULL, error);
}

int session_command(struct session *session, const char *sql, int param_count,
                    const char *const *params, const int *lengths, const int *formats,
                    struct error *error)
{
    PGresult *result =
        session_query_formats(session, sql, param_count, params, lengths, formats, error);

    PQclear(result);
    return result != NULL ? 0 : -1;
}

/* Completes a statement that has been queued and drops its results. */
static int complete(struct session *session, int sent, struct error *error)
{
    PGresult *result;

    if (send_and_flush(session, sent, error) < 0)
        return -1;
    result = finish(session, error);
    PQclear(result);
    return result != NULL ? 0 : -1;
}

int session_execute(struct session *session, const char *sql, struct error *error)
{
    return complete(session, session->conn != NULL && PQsendQuery(session->conn, sql), error);
}

int session_prepare(struct session *session, const char *name, const char *sql, struct error *error)
{
    int sent = session->conn != NULL && PQsendPrepare(session->conn, name, sql, 0, NULL);

    return complete(session, sent, error);
}

int session_enter_pipeline(struct session *session, struct error *error)
{
    return PQenterPipelineMode(session->conn) == 1 ? 0 : fail_and_close(session, error);
}

int session_queue(struct session *session, const char *statement, int param_count,
                  const char *const *params, struct error *error)
{
    if (session->conn == NULL)
        return session_fail(session, NULL, error);
    return PQsendQueryPrepared(session->conn, statement, param_count, params, NULL, NULL, 0) == 1
               ? 0
               : fail_and_close(session, error);
}

int session_request_flush(struct session *session, struct error *error)
{
    return PQsendFlushRequest(session->conn) == 1 ? 0 : fail_and_close(session, error);
}

int session_sync(struct session *session, struct error *error)
{
    if (PQpipelineSync(session->conn) != 1)
        return fail_and_close(session, error);
    return session_flush(session, answer_deadline_ms(session), error);
}

PGresult *session_answer(struct session *session, struct error *error)
{
    PGresult *result = session_next(session, answer_deadline_ms(session), error);

    if (result == NULL || PQresultStatus(result) == PGRES_TUPLES_OK)
        return result;
    (void)session_fail(session, result, error);
    PQclear(result);
    return NULL;
}

int session_end_sync(struct session *session, struct error *error)
{
    int64_t deadline_ms = answer_deadline_ms(session);
    ExecStatusType status;

    do {
        PGresult *result = session_next(session, deadline_ms, error);

        if (result == NULL)
            return -1;
        status = PQresultStatus(result);
        PQclear(result);
    } while (status != PGRES_PIPELINE_SYNC);
    return 0;
}

int session_leave_pipeline(struct session *session, struct error *error)
{
    return PQexitPipelineMode(session->conn) == 1 ? 0 : fail_and_close(session, error);
}

/* By default PostgreSQL would plan each claim anew with its parameters, which costs five times as
 * much as starting the generic plan. */
int session_force_generic_plans(struct session *session, struct error *error)
{
    return session_execute(session, "SET plan_cache_mode = force_generic_plan", error);
}
