#ifndef OUTBOX_SLICES_HORIZON_H
#define OUTBOX_SLICES_HORIZON_H

#include "source/server.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The horizon: for each slice, the lower bounds of its unsent ids; one state for all lanes of a
 * process. docs/internals/horizon.md explains the rule and proves it. Any thread may call these
 * functions; they do no I/O except to wake the watcher. Times are those of clock_now_ms().
 *
 * The invariant of a bound: its slice has no unsent row with a lower id, and none will become
 * visible later, unless its id was drawn before its INSERT. `low` holds for every snapshot, `high`
 * only for snapshots in which all long holders are still running.
 */

struct horizon;

#define HORIZON_UNKNOWN INT64_MIN /* no bound is known: read every row */
#define HORIZON_LONG_MAX 64       /* `high` ignores this many long holders; more of them block it */

struct horizon_bound {
    int64_t low;
    int64_t high;
};

/* The state of the horizon at one moment. It is valid for every snapshot taken later. */
struct horizon_stamp {
    uint64_t epoch;         /* 0: nothing is known, and results must not be reported */
    uint64_t generation;    /* changes whenever a long holder ends */
    int64_t stable_low;     /* no further row will become visible with an id up to this one */
    int64_t stable_high;    /* the same, for snapshots in which all long holders are running */
    int64_t drawn;          /* highest id drawn; if it is lower later, the state is void */
    uint64_t lowered_count; /* how often a bound was lowered because a row was found below it */
};

struct horizon_view {
    struct horizon_stamp stamp;
    bool starting; /* claims wait for the epoch's first scan: without bounds they read every row */
    uint32_t file; /* the table's file node, for which the view is valid */
    uint64_t holders[HORIZON_LONG_MAX]; /* xid8 of the long holders */
    int holder_count;
    struct horizon_bound *bounds; /* one for each slice; owned */
};

/* NULL: no memory. */
struct horizon *horizon_open(int slices);
void horizon_close(struct horizon *horizon);
int horizon_slices(const struct horizon *horizon);
/* A hint for each slice: its last claim left unsent rows in it. */
atomic_bool *horizon_has_more(struct horizon *horizon);

/* Initialises a view without any bounds. Returns 0, or -1 when there is no memory. */
int horizon_view_init(struct horizon_view *view, int slices);
void horizon_view_clear(struct horizon_view *view, int slices);
void horizon_view_free(struct horizon_view *view);

/* To be called when a session has connected to `server`. Begins a new epoch, because a crash may
 * have undone both commits and drawn ids. */
void horizon_connected(struct horizon *horizon, const struct server *server);
/* How often a tick has found that the sequence was set back. */
uint64_t horizon_begun_anew(struct horizon *horizon);
/* To be called when something contradicts the state of this epoch. Begins a new one. */
void horizon_reset(struct horizon *horizon, uint64_t epoch);

/* Fills a view for a session on `server`; it is valid for snapshots taken from now on. For another
 * server than the horizon's the view has no bounds. */
void horizon_read(struct horizon *horizon, const struct server *server, struct horizon_view *view);
/* The same for a lane that does not claim the rows of the sinks that are away; `away` has a bit for
 * each of these. `part` holds the bounds of the other rows. They are never below those of
 * `horizon`, and are dropped when `horizon` begins an epoch or lowers a bound, or when `away`
 * changes. */
void horizon_read_while_away(struct horizon *part, struct horizon *horizon, uint64_t away,
                             const struct server *server, struct horizon_view *view);

/* Reports that a claim, which read from the bound `from`, has settled and committed every row of
 * the slice that it saw up to the id `last` (INT64_MAX: to the end of the slice). `from_high`: it
 * read from the high bound, because all long holders were running in its snapshot. */
void horizon_advance(struct horizon *horizon, const struct horizon_stamp *stamp, int slice,
                     const struct horizon_bound *from, int64_t last, bool from_high);
/* Reports that a scan without locks found `lowest` as the lowest unsent id of the slice (INT64_MAX:
 * none), reading from `bound`, or from the start when it was a full scan. Returns true when a full
 * scan found a row below the bound; the bound has been lowered. */
bool horizon_note_scan(struct horizon *horizon, const struct horizon_stamp *stamp, int slice,
                       const struct horizon_bound *bound, bool full, int64_t lowest,
                       bool from_high);

/* Reports that rows with ids up to `highest` were claimed in this epoch. */
void horizon_note_claimed(struct horizon *horizon, uint64_t epoch, int64_t highest);

/* ---- for the thread that maintains the horizon (watch.c) ---- */

/* A transaction that holds RowExclusiveLock on the table. */
struct horizon_holder {
    uint64_t transaction; /* virtual transaction id, packed */
    bool prepared;        /* a prepared transaction: its virtual id may have changed with that */
    uint64_t xid; /* xid8 that the tick's snapshot lists as running; 0: none, it wrote nothing */
};

struct horizon_tick {
    int64_t drawn; /* highest id drawn, read before the holders; or HORIZON_UNKNOWN */
    uint32_t file; /* the table's file node, read together with the holders */
    struct horizon_holder *holders; /* sorted in place */
    int holder_count;
    int64_t now_ms;
};

/* Applies a tick whose queries were sent after the stamp was read, and updates the stamp for the
 * scans that followed the queries. Returns false when the tick belongs to an older epoch, when it
 * contradicts the previous one (then a new epoch has begun), or when there is no memory. */
bool horizon_tick(struct horizon *horizon, const struct horizon_tick *tick,
                  struct horizon_stamp *stamp);
/* Reports that the first scan of the epoch has made progress, or is done. */
void horizon_note_first_scan(struct horizon *horizon, uint64_t epoch, bool done);
/* Returns the highest id claimed in this epoch; HORIZON_UNKNOWN: none. *has_claimed: whether rows
 * were claimed since the last call. */
int64_t horizon_highest_claimed(struct horizon *horizon, bool *has_claimed);
/* Returns an id below which no slice has an unsent row; HORIZON_UNKNOWN: one may have. */
int64_t horizon_lowest(struct horizon *horizon);
/* Returns for how many milliseconds the stable id (stable_low) has not moved although higher ids
 * were drawn; 0 when it is level with the highest of them. */
int64_t horizon_stands_still_ms(struct horizon *horizon);
/* An eventfd(2) that becomes readable when an epoch begins; reading clears it. */
int horizon_fd(const struct horizon *horizon);

#endif
