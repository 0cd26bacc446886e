#ifndef PG_PIPELINE_H
#define PG_PIPELINE_H

#include "pg/array.h"
#include "pg/session.h"

/*
 * A session in libpq's pipeline mode: prepared statements are queued, and a Sync ends each round
 * trip. Any failure closes the session, so a half-read pipeline is never reused. Functions that
 * return int return 0, or -1 with *error set and the session closed, unless they say otherwise.
 */

/* Why a statement failed, as far as a lane treats the reasons differently. */
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

struct pipeline {
    struct session session;
    int prepared; /* number of Parse messages that the server has not answered yet */
    bool in_transaction;
    bool in_flight;       /* a Sync was sent, and none of the results before it was read */
    enum failure failure; /* why the last statement failed */
};

/* Enters pipeline mode on a session that has just been opened. */
int pipeline_enter(struct pipeline *pipeline, struct error *error);
/* pipeline_prepare() queues the preparation of a statement and frees its text (NULL: no memory);
 * pipeline_read_prepared() sends all of them and reads the answers. */
int pipeline_prepare(struct pipeline *pipeline, const char *name, char *sql, struct error *error);
int pipeline_read_prepared(struct pipeline *pipeline, struct error *error);

void pipeline_close(struct pipeline *pipeline);

/* Closes the session after a failure that has set *error; returns -1. */
int pipeline_abort(struct pipeline *pipeline);
/* Runs COMMIT or ROLLBACK. */
int pipeline_end_transaction(struct pipeline *pipeline, bool commit, struct error *error);
/* Rolls back after a failed statement and keeps the session open. */
int pipeline_roll_back(struct pipeline *pipeline, struct error *error);

/* Queues a prepared statement with binary parameters, and binary results when `binary` is set. */
int pipeline_queue(struct pipeline *pipeline, const char *statement, int param_count,
                   const struct array *params, bool binary, struct error *error);
/* Asks the server to send its results so far at once (a Flush message). */
int pipeline_request_flush(struct pipeline *pipeline, struct error *error);
int pipeline_sync(struct pipeline *pipeline, struct error *error);

/* Returns the next result, which must have this status; PQclear() it. NULL: the session is closed.
 */
PGresult *pipeline_expect(struct pipeline *pipeline, ExecStatusType status, struct error *error);
/* The same, but a failed statement leaves the session open for pipeline_roll_back(), and
 * pipeline->failure says why it failed. */
PGresult *pipeline_answer(struct pipeline *pipeline, ExecStatusType status, struct error *error);
/* Reads all results up to the Sync. Returns 1; 0 with *error and pipeline->failure set when a
 * statement failed, which leaves the session open; -1 when the session is closed. */
int pipeline_try(struct pipeline *pipeline, struct error *error);
/* Like pipeline_expect(), but drops the result. */
int pipeline_skip(struct pipeline *pipeline, ExecStatusType status, struct error *error);

/* Runs one statement in a round trip of its own, with text parameters and a text result. */
PGresult *pipeline_run(struct pipeline *pipeline, const char *statement, int param_count,
                       const char *const *params, struct error *error);

#endif
