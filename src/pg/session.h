#ifndef PG_SESSION_H
#define PG_SESSION_H

#include "base/bounded_call.h"
#include "base/error.h"
#include "pg/session_options.h"

#include <libpq-fe.h>
#include <stdbool.h>

/*
 * One PostgreSQL connection on which no call waits for ever: libpq's blocking calls have no
 * deadline (a black-holed COMMIT never returns), so every wait is poll(2) with one, and connecting,
 * which may hang in a name lookup, is given up (connect.h). After a failed wait the session is
 * closed: what the server did is unknown.
 */

#define SESSION_STATEMENT_MS 10000
/* The client waits longer than the server's statement_timeout, so that the server's word arrives.
 */
#define SESSION_WAIT_MS (SESSION_STATEMENT_MS + 2000)

struct session {
    PGconn *conn;  /* NULL: closed */
    char *schemas; /* the role's search_path, as an array of names; the session's own is '' */
    struct bounded_call *late; /* a try to connect that was given up, and has not returned */
    char backend[64];          /* of the last connection, its pid and start; "": there was none */
    int wait_ms;               /* how long an answer may take; 0: SESSION_WAIT_MS */
    /* Notifications are counted as they arrive, and not kept: whoever may NOTIFY sends any number.
     */
    struct {
        int arrived;
        int empty;        /* of these, without a payload */
        const char *mark; /* the payload awaited; NULL: none */
        bool is_marked;   /* it has arrived */
    } notes;
};

/* Connects and applies the session's settings. Nothing is evaluated before search_path is empty, so
 * that no function or operator of others can take the place of PostgreSQL's. `name` becomes part of
 * application_name. */
int session_open(struct session *session, const struct session_options *options, const char *name,
                 struct error *error);
void session_close(struct session *session);
/* The same, and nothing of it is used again. */
void session_end(struct session *session);

/* Every plan is made once, without its parameters: for statements whose plan is the same whatever
 * the statistics and the parameters say. */
int session_keep_plans(struct session *session, struct error *error);

/* One statement, text parameters and text results. NULL with *error set; PQclear() the result. */
PGresult *session_query(struct session *session, const char *sql, int param_count,
                        const char *const *params, struct error *error);
/* One statement whose results are not wanted; formats as PQexecParams takes them. */
int session_command(struct session *session, const char *sql, int param_count,
                    const char *const *params, const int *lengths, const int *formats,
                    struct error *error);
/* The same for several statements without parameters or wanted results. */
int session_execute(struct session *session, const char *sql, struct error *error);

/* Pipeline mode: sends what is queued; then fetches the next result that is not a separator.
 * NULL with *error set when the connection or the deadline is lost (and the session is closed). */
int session_flush(struct session *session, int64_t deadline_ms, struct error *error);
PGresult *session_next(struct session *session, int64_t deadline_ms, struct error *error);

/* The same in simple steps, for a session that is in pipeline mode between enter and leave only:
 * prepared statements with text parameters and results. 0, or -1 with *error set: close it. */
int session_prepare(struct session *session, const char *name, const char *sql,
                    struct error *error);
int session_enter_pipeline(struct session *session, struct error *error);
int session_queue(struct session *session, const char *statement, int param_count,
                  const char *const *params, struct error *error);
/* The server sends the answers so far at once, not with those behind them. */
int session_ask_flush(struct session *session, struct error *error);
int session_sync(struct session *session, struct error *error);
/* The next statement's rows; NULL with *error set. PQclear() them. */
PGresult *session_answer(struct session *session, struct error *error);
/* Skips what is left of the round trip: behind a statement that failed the others are void. */
int session_end_sync(struct session *session, struct error *error);
int session_leave_pipeline(struct session *session, struct error *error);

/* Counts the notifications that have been read into session->notes. */
void session_take_notes(struct session *session);

/* Fills *error from a result that is an error, or from the connection when `result` is NULL. */
int session_fail(const struct session *session, const PGresult *result, struct error *error);

#endif
