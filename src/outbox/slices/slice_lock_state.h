#ifndef OUTBOX_SLICES_SLICE_LOCK_STATE_H
#define OUTBOX_SLICES_SLICE_LOCK_STATE_H

#include "outbox/slices/scan.h"
#include "outbox/slices/slice_lock.h"
#include "outbox/slices/choice.h"

/* The state of struct slice_lock, for slice_lock.c and away.c. */

/* Where the lane scans and claims while a sink is away (away.h). */
struct away_walk {
    struct scan_round round; /* the round of scans */
    bool scanned_all;        /* every slice has been scanned at least once */
    int64_t took_ms;         /* time that the current round has spent in scans */
    int64_t restart_ms;      /* when the window moves back to the bound */
    int64_t from;            /* first id of the window; HORIZON_UNKNOWN: it begins at the bound */
    int64_t end;             /* last id of the window; INT64_MAX: it has no end */
};

/* The rows that a claim took from one of its locked slices. */
struct claimed_range {
    int slice;
    int rows;
    struct horizon_bound from;
    int64_t last; /* highest id; INT64_MAX: all rows to the slice's end; HORIZON_UNKNOWN: no row */
};

struct slice_lock {
    struct slice_lock_owner owner;
    struct horizon *horizon; /* shared by the lanes of a process; NULL: there is none */
    uint64_t begun_anew;     /* horizon_begun_anew() before the lane has connected */

    /* the next claim */
    struct slice_choice choice;
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

/* Raises the bounds of the view to the start of the window. */
void slice_lock_apply_window(struct slice_lock *lock);

#endif
