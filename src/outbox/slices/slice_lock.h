#ifndef OUTBOX_SLICES_SLICE_LOCK_H
#define OUTBOX_SLICES_SLICE_LOCK_H

#include "message/batch.h"
#include "outbox/slices/claim_request.h"
#include "outbox/slices/scan.h"
#include "outbox/slices/turns.h"
#include "pg/pipeline.h"

/* Which slices a lane locks for a claim, from which bounds on, and what it learns from the claim.
 * With order = "none" the table is one slice, which nobody locks. */

#define AWAY_WINDOW_ROWS 50000 /* so many that asking the routes of each takes a moment only */

/* While a sink is away: where the lane looks among the rows that are left (away.h). */
struct away_walk {
    struct round round; /* of scans */
    bool seen;          /* every slice has been scanned */
    int64_t took_ms;    /* by the round under way */
    int64_t restart_ms; /* then the walk goes back to the bound, wherever it is */
    int64_t from;       /* the window begins there; HORIZON_UNKNOWN: at the bound */
    int64_t end;        /* the last id of the window; INT64_MAX: it reaches to the table's end */
};

/* What a claim took of one slice that was locked for it, by integer ids. */
struct claimed_range {
    int slice;
    int rows;
    struct horizon_bound from;
    int64_t last; /* id; INT64_MAX: the slice was seen to its end; HORIZON_UNKNOWN: nothing of it */
};

struct slice_lock {
    const struct outbox_options *options;
    const struct table *table;
    const struct server *server;
    struct pipeline *pipeline;
    struct horizon *horizon; /* shared by the lanes of a process; NULL: this lane is alone */

    /* which slices, and from where on */
    struct turns turns;
    struct horizon *away_horizon; /* bounds of the rows that are claimed while a sink is away */
    struct horizon_view view;     /* of the claim under way */
    bool reads_all;               /* the next claim trusts no bound */
    struct horizon *view_of;      /* whose bounds these are: one of the two above, or NULL */
    struct away_walk walk;

    /* the claim in hand */
    struct horizon_stamp stamp; /* of the view that it was asked for with, */
    struct horizon *stamp_of;   /* and whose that was; NULL: there is nothing to tell */
    bool read_high;             /* it read from the high bounds */
    int32_t locked[SLICES_A_CLAIM_MAX];
    struct claimed_range claimed[SLICES_A_CLAIM_MAX]; /* one for each of `locked` */
    int locked_count;                                 /* 0: parked rows, or order = "none" */
    int empty_claims; /* in a row: slices were locked, and the claim behind found nothing */
};

/* 0, or -1: no memory. The pointers above are the caller's to set. Free it in either case. */
int slice_lock_init(struct slice_lock *lock, int slices);
void slice_lock_free(struct slice_lock *lock);

/* Reads the horizon for the next claim. No snapshot of that claim may be older. */
void slice_lock_read_horizon(struct slice_lock *lock, const struct claim_request *request);
/* The view begins where the window of the walk does. */
void slice_lock_move_view(struct slice_lock *lock);
/* Queues the lock before a claim, and reads its answer: 0, or -1. */
int slice_lock_queue(struct slice_lock *lock, struct batch *batch,
                     const struct claim_request *request, struct error *error);
int slice_lock_read(struct slice_lock *lock, const struct claim_request *request,
                    struct error *error);

/* Records how far the batch reached in each locked slice; the claim asked for `limit` rows. -1: the
 * rows are not in the order of their ids. Sets batch->has_more when a slice may hold more rows, or
 * other slices may. */
int slice_lock_note_claimed(struct slice_lock *lock, struct batch *batch, int limit,
                            struct error *error);
/* The claim found nothing. Whether it is to be repeated at once, because slices were thought to
 * have rows. */
bool slice_lock_note_empty(struct slice_lock *lock, const struct claim_request *request);
/* So many of the slices that were locked have a row that holds up the claim: see turns_postpone. */
void slice_lock_postpone(struct slice_lock *lock, int count);
/* The rows are settled and committed, as batch->messages say. */
void slice_lock_note_settled(struct slice_lock *lock, const struct batch *batch);

#endif
