#ifndef PG_SESSION_H
#define PG_SESSION_H

#include "base/bounded_call.h"
#include "base/error.h"
#include "pg/wire.h"

#include <libpq-fe.h>
#include <stdbool.h>

/*
 * One PostgreSQL connection on which no call waits forever. libpq's blocking calls have no deadline
 * (when the network drops a COMMIT they never return), so every wait is a poll(2) with a timeout,
 * and connecting is bounded too (connect.h).
 *
 * A statement is run alone, or it is prepared and queued in a pipeline, where a Sync ends each
 * round trip. The first queued statement starts the pipeline, and the first statement that runs
 * alone afterwards ends it, when all answers up to the Sync have been read.
 *
 * Functions that return int return 0, or -1 with *error set, and functions that return a result
 * return NULL with *error set, unless they say otherwise; PQclear() the result. After a failed wait
 * or a lost connection the session is closed, because it is unknown what the server did.
 */

#define SESSION_STATEMENT_MS 10000
/* The client waits longer than the server's statement_timeout, so that the server's error arrives.
 */
#define SESSION_WAIT_MS (SESSION_STATEMENT_MS + 2000)

/* Why a queued statement failed, as far as a lane treats the reasons differently. */
enum failure {
    FAILURE_NONE,
    FAILURE_OTHER,
    FAILURE_LOCKED, /* lock_timeout: another session held a lock on a row for too long */
    FAILURE_ROW,    /* maybe caused by a row whose values cannot be read, or take too long */
    FAILURE_DAMAGED /* the same, and the stored value itself is damaged */
};

static inline bool failure_is_of_row(enum failure failure)
{
    return failure == FAILURE_ROW || failure == FAILURE_DAMAGED;
}

struct session {
    PGconn *conn;  /* NULL: closed */
    char *schemas; /* the role's search_path as an array; the session itself sets it to '' */
    struct bounded_call *late; /* a connection attempt that timed out; NULL: none */
    char backend[64];     /* pid and start time of the last connection's backend; "": none yet */
    int first_host;       /* the host of the url that is tried first (connect.h) */
    long backend_pid;     /* of the backend that serves the session, as that says itself */
    bool is_pooled;       /* the connection goes through a connection pooler, in session mode */
    int wait_ms;          /* time limit for each answer; 0: SESSION_WAIT_MS */
    bool in_transaction;  /* set by the caller; COMMIT, ROLLBACK and closing clear it */
    bool in_flight;       /* a claim was sent behind the last COMMIT, and none of its answers was
                             read: set by outbox_settle(), cleared by round_read() and closing */
    bool computes_values; /* statements have SQL of the configuration, which any row may fail */
    enum failure failure; /* why the last queued statement failed */
    bool quotes_values;   /* libpq's text of the connection may hold values of rows */
    /* Notifications are counted and not stored, because any role may send any number of them. */
    struct {
        int arrived;
        int empty;        /* how many of them had no payload */
        char awaited[64]; /* the payload that the session waits for */
        bool has_awaited; /* whether that payload has arrived */
        /* Is called for each one with the pid of the backend that sent it; NULL: nothing is. */
        void (*on_arrival)(void *closure, const char *channel, const char *payload, int pid);
        void *closure;
    } notifications;
};

void session_close(struct session *session);
/* Closes the session after a failure that has set *error; returns -1. */
int session_abort(struct session *session);
/* Closes the session for good and frees the rest. */
void session_end(struct session *session);

/* Makes the session use generic plans only; for statements whose best plan depends neither on the
 * parameters nor on statistics. */
int session_force_generic_plans(struct session *session, struct error *error);

/* ---- one statement alone; a failed one leaves the session open */

/* Runs one statement with text parameters and a text result. */
PGresult *session_query(struct session *session, const char *sql, int param_count,
                        const char *const *params, struct error *error);
/* The same with parameters of lengths and formats as PQexecParams takes them. */
PGresult *session_query_formats(struct session *session, const char *sql, int param_count,
                                const char *const *params, const int *lengths, const int *formats,
                                struct error *error);
/* Runs one statement with text parameters and drops its result. */
int session_command(struct session *session, const char *sql, int param_count,
                    const char *const *params, struct error *error);
/* Runs one or more statements without parameters and drops their results. */
int session_execute(struct session *session, const char *sql, struct error *error);

/* ---- prepared statements in a pipeline; a failure closes the session, if nothing else is said */

/* session_prepare() queues the preparation of a statement and frees its text (NULL: no memory);
 * session_read_prepared() sends all of them and reads the answers. A statement that cannot be
 * prepared leaves the session open. */
int session_prepare(struct session *session, const char *name, char *sql, struct error *error);
int session_read_prepared(struct session *session, struct error *error);

/* Queues a prepared statement with binary parameters, and a binary result when `binary` is set. */
int session_queue(struct session *session, const char *statement, int param_count,
                  const struct array *params, bool binary, struct error *error);
/* Asks the server to send its answers so far at once (a Flush message). */
int session_request_flush(struct session *session, struct error *error);
/* Ends the round trip, and sends what is queued. */
int session_sync(struct session *session, struct error *error);

/* Returns the next result, which must have this status. */
PGresult *session_expect(struct session *session, ExecStatusType status, struct error *error);
/* The same, but drops the result. */
int session_skip(struct session *session, ExecStatusType status, struct error *error);
/* The same two, but a failed statement leaves the session open, and session->failure says why it
 * failed. The rest of the round trip is then skipped by session_finish() or session_roll_back(). */
PGresult *session_answer(struct session *session, ExecStatusType status, struct error *error);
int session_check(struct session *session, ExecStatusType status, struct error *error);
/* Reads the rows of the next result one by one. Returns 0, or -1 like session_answer(). *last: the
 * last row, also of those before the failure; NULL: there is none. */
int session_read_last(struct session *session, PGresult **last, struct error *error);
/* The same for the answer to COMMIT; that the server has rolled back is a failure too. */
int session_read_commit(struct session *session, struct error *error);
/* Reads all answers up to the Sync. Returns 1; 0 with *error and session->failure set when a
 * statement failed, which leaves the session open; -1 when the session is closed. */
int session_finish(struct session *session, struct error *error);

/* Runs one prepared statement in a round trip of its own, with a text result. */
PGresult *session_run(struct session *session, const char *statement, int param_count,
                      const struct array *params, struct error *error);
/* Runs the prepared statement "commit" or "rollback". */
int session_end_transaction(struct session *session, bool commit, struct error *error);
/* Skips the rest of the round trip after a failed statement, and rolls back. */
int session_roll_back(struct session *session, struct error *error);

/* ---- notifications */

/* Reads what has arrived, without waiting, and counts the notifications. */
int session_read_input(struct session *session, struct error *error);
/* Waits for input and does the same. Returns 1; 0 at the deadline; -1 with *error set. */
int session_wait_for_input(struct session *session, int64_t deadline_ms, struct error *error);
/* Counts the notifications that have been read in session->notifications. */
void session_count_notifications(struct session *session);
/* Makes a payload that nobody else sends, and returns it. session_await_notification() waits until
 * a notification with it has arrived. Returns 1, 0 at the deadline, or -1 with *error set. */
const char *session_expect_notification(struct session *session);
int session_await_notification(struct session *session, int64_t deadline_ms, struct error *error);

/* ---- what the connection is; texts live as long as it */

const char *session_role(const struct session *session);
const char *session_database(const struct session *session);
/* The encoding of the database; "(unknown)" when the server does not say. */
const char *session_encoding(const struct session *session);
int session_server_version(const struct session *session); /* 150004: 15.4 */
/* The socket, to poll(2) for input; -1: closed. */
int session_socket(const struct session *session);
/* Whether the server or the network has ended the connection, although input may be left. */
bool session_is_cut_off(const struct session *session);
/* Whether a transaction is open; and one in which a statement has failed. */
bool session_is_in_transaction(const struct session *session);
bool session_has_failed_transaction(const struct session *session);

/* A name as SQL has it, in quotes; free() it. NULL: no memory, or the text is not valid in the
 * connection's encoding. */
char *session_quote_name(const struct session *session, const char *name);

/* Sets *error from a failed result, or from the connection when `result` is NULL. Returns -1. */
int session_fail(struct session *session, const PGresult *result, struct error *error);
/* Whether an error is one of the statement's own text, which the configuration determines. */
bool session_blames_statement(const PGresult *result);
/* Whether the message of an error or a warning can hold no value of a row (failure.c). */
bool session_says_no_value(const PGresult *result);

#endif
