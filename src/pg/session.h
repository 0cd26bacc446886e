#ifndef PG_SESSION_H
#define PG_SESSION_H

#include "base/bounded_call.h"
#include "base/error.h"

#include <libpq-fe.h>
#include <stdbool.h>

/*
 * One PostgreSQL connection on which no call waits forever. libpq's blocking calls have no deadline
 * (when the network drops a COMMIT they never return), so every wait is a poll(2) with a timeout,
 * and connecting is bounded too (connect.h). After a failed wait the session is closed, because it
 * is unknown what the server did.
 */

#define SESSION_STATEMENT_MS 10000
/* The client waits longer than the server's statement_timeout, so that the server's error arrives.
 */
#define SESSION_WAIT_MS (SESSION_STATEMENT_MS + 2000)

struct session {
    PGconn *conn;  /* NULL: closed */
    char *schemas; /* the role's search_path as an array; the session itself sets it to '' */
    struct bounded_call *late; /* a connection attempt that timed out; NULL: none */
    char backend[64]; /* pid and start time of the last connection's backend; "": none yet */
    int first_host;   /* the host of the url that is tried first (connect.h) */
    bool is_pooled;   /* the connection goes through a connection pooler, in session mode */
    int wait_ms;      /* time limit for each result; 0: SESSION_WAIT_MS */
    /* Notifications are counted and not stored, because any role may send any number of them. */
    struct {
        int arrived;
        int empty;           /* how many of them had no payload */
        const char *awaited; /* the payload that the session waits for; NULL: none */
        bool has_awaited;    /* whether that payload has arrived */
        /* Is called for each one with the pid of the backend that sent it; NULL: nothing is. */
        void (*on_arrival)(void *closure, const char *channel, const char *payload, int pid);
        void *closure;
    } notifications;
};

void session_close(struct session *session);
/* Closes the session for good and frees the rest. */
void session_end(struct session *session);

/* Makes the session use generic plans only; for statements whose best plan depends neither on the
 * parameters nor on statistics. */
int session_force_generic_plans(struct session *session, struct error *error);

/* Runs one statement with text parameters and a text result; PQclear() it. NULL with *error set. */
PGresult *session_query(struct session *session, const char *sql, int param_count,
                        const char *const *params, struct error *error);
/* The same with parameters of lengths and formats as PQexecParams takes them. */
PGresult *session_query_formats(struct session *session, const char *sql, int param_count,
                                const char *const *params, const int *lengths, const int *formats,
                                struct error *error);
/* Runs one statement and drops its results; `lengths` and `formats` are those of PQexecParams. */
int session_command(struct session *session, const char *sql, int param_count,
                    const char *const *params, const int *lengths, const int *formats,
                    struct error *error);
/* Runs one or more statements without parameters and drops their results. */
int session_execute(struct session *session, const char *sql, struct error *error);

/* Pipeline mode. session_flush() sends what is queued; session_next() returns the next result and
 * skips the NULL between two statements. On a lost connection or a missed deadline the session is
 * closed and *error is set. */
int session_flush(struct session *session, int64_t deadline_ms, struct error *error);
PGresult *session_next(struct session *session, int64_t deadline_ms, struct error *error);

/* For a session that is in pipeline mode only between session_enter_pipeline() and
 * session_leave_pipeline(): prepared statements with text parameters and results. Return 0, or -1
 * with *error set; then the caller has to close the session. */
int session_prepare(struct session *session, const char *name, const char *sql,
                    struct error *error);
int session_enter_pipeline(struct session *session, struct error *error);
int session_queue(struct session *session, const char *statement, int param_count,
                  const char *const *params, struct error *error);
/* Asks the server to send its results so far at once (a Flush message). */
int session_request_flush(struct session *session, struct error *error);
int session_sync(struct session *session, struct error *error);
/* Returns the next statement's rows; PQclear() them. NULL with *error set. */
PGresult *session_answer(struct session *session, struct error *error);
/* Skips the remaining results up to the Sync; after a failed statement the later ones did not run.
 */
int session_end_sync(struct session *session, struct error *error);
int session_leave_pipeline(struct session *session, struct error *error);

/* Counts the notifications that have arrived in session->notifications. */
void session_count_notifications(struct session *session);
/* Waits until notifications.has_awaited is true. Returns 1, 0 at the deadline, or -1 with *error
 * set. */
int session_await_notification(struct session *session, int64_t deadline_ms, struct error *error);

/* Sets *error from a failed result, or from the connection when `result` is NULL. Returns -1. */
int session_fail(const struct session *session, const PGresult *result, struct error *error);

#endif
