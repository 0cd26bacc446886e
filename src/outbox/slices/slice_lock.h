#ifndef OUTBOX_SLICES_SLICE_LOCK_H
#define OUTBOX_SLICES_SLICE_LOCK_H

#include "message/batch.h"
#include "outbox/slices/claim_request.h"
#include "outbox/slices/scan.h"
#include "outbox/slices/turns.h"
#include "pg/session.h"

/* Which slices a lane locks for a claim, the bounds that it claims from, and what it learns from
 * the claim. With order = "none" the table is one slice, which is not locked. */

/* Where the lane scans and claims while a sink is away (away.h). */
struct away_walk {
    struct round round; /* the round of scans */
    bool scanned_all;   /* every slice has been scanned at least once */
    int64_t took_ms;    /* time that the current round has spent in scans */
    int64_t restart_ms; /* when the window moves back to the bound */
    int64_t from;       /* first id of the window; HORIZON_UNKNOWN: it begins at the bound */
    int64_t end;        /* last id of the window; INT64_MAX: it has no end */
};

/* The rows that a claim took from one of its locked slices. */
struct claimed_range {
    int slice;
    int rows;
    struct horizon_bound from;
    int64_t last; /* highest id; INT64_MAX: all rows to the slice's end; HORIZON_UNKNOWN: no row */
};

struct slice_lock {
    const struct outbox_options *options;
    const struct table *table;
    const struct server *server;
    struct session *session;
    struct horizon *horizon; /* shared by the lanes of a process; NULL: there is none */

    /* the next claim */
    struct turns turns;
    struct horizon *away_horizon; /* bounds of the rows that are claimed while a sink is away */
    struct horizon_view view;     /* the bounds that the claim is sent with */
    bool ignores_bounds;          /* the next view has no bounds: a row may be below its bound */
    struct horizon *view_source; /* where the view was read from: `horizon`, `away_horizon`, NULL */
    struct away_walk walk;

    /* the current claim */
    struct horizon_stamp stamp;           /* the stamp of the view that it was sent with */
    struct horizon *report_to;            /* the horizon to report to; NULL: none */
    bool read_high;                       /* it read from the high bounds */
    int32_t locked[SLICES_PER_CLAIM_MAX]; /* the slices that it locked */
    struct claimed_range claimed[SLICES_PER_CLAIM_MAX]; /* one for each locked slice */
    int locked_count; /* 0: no free slice had rows; or parked rows, or order = "none" */
    int empty_claims; /* consecutive claims that locked slices and found no rows */
};

/* Returns 0, or -1 when there is no memory. The caller sets the pointers above, and calls
 * slice_lock_free() in either case. */
int slice_lock_init(struct slice_lock *lock, int slices);
void slice_lock_free(struct slice_lock *lock);

/* Reads the horizon for the next claim, whose snapshots must be taken afterwards. */
void slice_lock_read_horizon(struct slice_lock *lock, const struct claim_request *request);
/* Raises the bounds of the view to the start of the window. */
void slice_lock_apply_window(struct slice_lock *lock);
/* Queue the statement that locks slices before a claim, and read its answer. Return 0, or -1 with
 * *error set. */
int slice_lock_queue(struct slice_lock *lock, struct batch *batch,
                     const struct claim_request *request, struct error *error);
int slice_lock_read(struct slice_lock *lock, const struct claim_request *request,
                    struct error *error);

/* Records how far the batch reached in each locked slice; the claim asked for `limit` rows. Sets
 * batch->has_more when these or other slices may have more rows. Returns -1 when the rows are not
 * in the order of their ids. */
int slice_lock_note_claimed(struct slice_lock *lock, struct batch *batch, int limit,
                            struct error *error);
/* Records that the claim found nothing. Returns whether to claim again at once, because the locked
 * slices should have had rows. */
bool slice_lock_note_empty(struct slice_lock *lock, const struct claim_request *request);
/* One of the first `count` locked slices has a row that holds up the claim: puts that slice off
 * (turns_postpone). */
void slice_lock_postpone(struct slice_lock *lock, int count);
/* Raises the bounds after the batch was settled and committed, unless a row of it stays unsent. */
void slice_lock_note_settled(struct slice_lock *lock, const struct batch *batch);

#endif
