#ifndef PG_PIPELINE_H
#define PG_PIPELINE_H

#include "pg/array.h"
#include "pg/session.h"

/*
 * A session in libpq's pipeline mode: prepared statements are queued, and one Sync ends what
 * travels together. Any failure closes the session, so no half-read pipeline is ever reused. What
 * returns int returns 0, or -1 with *error set and the session closed, unless it says otherwise.
 */

/* Why a statement failed, as far as a lane acts on it. */
enum failure {
    FAILURE_NONE,
    FAILURE_OTHER,
    FAILURE_LOCKED, /* it waited too long for somebody's lock on a row */
    FAILURE_ROW, /* it may be a row's fault: its values cannot be read or sent, or take too long */
    FAILURE_DAMAGED /* the same: what is stored of it is no value */
};

static inline bool failure_is_of_row(enum failure failure)
{
    return failure == FAILURE_ROW || failure == FAILURE_DAMAGED;
}

struct pipeline {
    struct session session;
    int prepared; /* statements whose preparation has not been answered */
    bool in_transaction;
    bool in_flight;       /* a Sync is sent, and nothing of what stands before it is read */
    enum failure failure; /* why the last statement failed */
};

/* On a session that has just been opened. */
int pipeline_enter(struct pipeline *pipeline, struct error *error);
/* Queues the preparation of a statement, whose text it frees (NULL: no memory); reads the answers
 * to all of them. */
int pipeline_prepare(struct pipeline *pipeline, const char *name, char *sql, struct error *error);
int pipeline_read_prepared(struct pipeline *pipeline, struct error *error);

void pipeline_close(struct pipeline *pipeline);

/* Closes after a failure that *error tells; returns -1. */
int pipeline_abort(struct pipeline *pipeline);
/* By COMMIT or by ROLLBACK: 0, or -1 and closed. */
int pipeline_end_transaction(struct pipeline *pipeline, bool commit, struct error *error);
/* Ends the transaction of a statement that failed, and keeps the session: 0, or -1 and closed. */
int pipeline_roll_back(struct pipeline *pipeline, struct error *error);

/* Queues a prepared statement with binary parameters; binary results when asked. */
int pipeline_queue(struct pipeline *pipeline, const char *statement, int param_count,
                   const struct array *params, bool binary, struct error *error);
/* The server sends the answers so far at once, not with those behind them. */
int pipeline_ask_flush(struct pipeline *pipeline, struct error *error);
int pipeline_sync(struct pipeline *pipeline, struct error *error);

/* The next result, which must have this status. NULL: closed. PQclear() it. */
PGresult *pipeline_expect(struct pipeline *pipeline, ExecStatusType status, struct error *error);
/* The same, but a statement that fails leaves the session open, for pipeline_roll_back(), and
 * pipeline->failure says why it failed. */
PGresult *pipeline_answer(struct pipeline *pipeline, ExecStatusType status, struct error *error);
/* A statement that may fail without ending the session: 1, or 0 with *error and pipeline->failure
 * set when it did fail; -1: closed. */
int pipeline_try(struct pipeline *pipeline, struct error *error);
/* The same as expect, when the result itself is not wanted. */
int pipeline_skip(struct pipeline *pipeline, ExecStatusType status, struct error *error);

/* One statement alone with text parameters; its text result. */
PGresult *pipeline_run(struct pipeline *pipeline, const char *statement, int param_count,
                       const char *const *params, struct error *error);

#endif
