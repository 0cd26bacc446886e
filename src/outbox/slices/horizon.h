#ifndef OUTBOX_SLICES_HORIZON_H
#define OUTBOX_SLICES_HORIZON_H

#include "pg/server.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Where the unsent rows of each slice begin: one state for all lanes of a process. docs/horizon.md
 * explains the rule and proves it. Any thread may call these functions; none does I/O but to wake
 * the watch. Times are those of clock_now_ms().
 *
 * The invariant of a bound: no unsent row of its slice has a lower id, and none will ever become
 * visible, unless its id was drawn before its INSERT. `high` holds only for snapshots in which all
 * long holders are still running; `low` holds for every snapshot.
 */

struct horizon;

#define HORIZON_UNKNOWN INT64_MIN /* of an id: nothing is known, look at every row */
#define HORIZON_LONG_MAX 16       /* long holders that are left out; any more hold the horizon */

struct horizon_bound {
    int64_t low;
    int64_t high;
};

/* What was known at one moment. Any snapshot that is taken after it may rest on it. */
struct horizon_stamp {
    uint64_t epoch;      /* 0: nothing is known, and nothing may be told */
    uint64_t generation; /* of the set of long holders: none of them has left since */
    int64_t stable_low;  /* no id up to this one will appear that is not there; */
    int64_t stable_high; /* the same for snapshots in which all long holders are running */
    int64_t drawn;       /* the highest id drawn; one that is lower later contradicts all this */
    uint64_t taken_back; /* so often was a bound, for a row below it */
};

struct horizon_view {
    struct horizon_stamp stamp;
    bool starting; /* no claim yet: the first scan is under way, and would be slower beside one */
    uint32_t file; /* the table's file node, for which all this is true */
    uint64_t holders[HORIZON_LONG_MAX]; /* xid8 of the long holders */
    int holder_count;
    struct horizon_bound *bounds; /* one a slice; owned */
};

/* NULL: no memory. */
struct horizon *horizon_open(int slices);
void horizon_close(struct horizon *horizon);
int horizon_slices(const struct horizon *horizon);
/* A hint for each slice: its last claim left rows of it behind. */
atomic_bool *horizon_has_more(struct horizon *horizon);

/* A view of so many slices, of which nothing is known. 0, or -1: no memory. */
int horizon_view_init(struct horizon_view *view, int slices);
void horizon_view_forget(struct horizon_view *view, int slices);
void horizon_view_free(struct horizon_view *view);

/* A session has connected to this server: what was known before counts no more, because a crash may
 * have taken back both commits and ids. */
void horizon_join(struct horizon *horizon, const struct server *server);
/* Something contradicts what was known in this epoch. */
void horizon_forget(struct horizon *horizon, uint64_t epoch);

/* Fills a view for a session on this server, to be used by snapshots taken from now on. A session
 * on another server gets one of which nothing is known. */
void horizon_read(struct horizon *horizon, const struct server *server, struct horizon_view *view);
/* The same for rows of some sinks only, whose bounds are `part`'s: it takes over whatever `horizon`
 * knows, and forgets its own bounds when that forgets, or takes one back, or when the sinks differ.
 */
void horizon_read_part(struct horizon *part, struct horizon *horizon, uint64_t sinks,
                       const struct server *server, struct horizon_view *view);

/* A claim from this bound has settled and committed every row of the slice that it saw up to
 * `last`, or to the slice's end: INT64_MAX. `from_high`: it read from the high bound, because its
 * snapshot had all long holders. */
void horizon_advance(struct horizon *horizon, const struct horizon_stamp *stamp, int slice,
                     const struct horizon_bound *from, int64_t last, bool from_high);
/* A scan without locks has found `lowest` first (INT64_MAX: nothing), from this bound on, or, if it
 * is a full one, from the very beginning. true: the full one found a row below the bound, which has
 * been taken back. */
bool horizon_scanned(struct horizon *horizon, const struct horizon_stamp *stamp, int slice,
                     const struct horizon_bound *bound, bool full, int64_t lowest, bool from_high);

/* Rows with ids up to this one were claimed in this epoch. */
void horizon_note_claimed(struct horizon *horizon, uint64_t epoch, int64_t highest);

/* ---- for the thread that keeps it (watch.c) ---- */

/* A transaction that holds RowExclusiveLock on the table. */
struct horizon_holder {
    uint64_t transaction; /* its virtual transaction, packed */
    bool prepared;        /* by PREPARE TRANSACTION: that is not the one it had before */
    uint64_t xid; /* xid8, running in the snapshot of this tick; 0: it has written nothing */
};

struct horizon_tick {
    int64_t drawn; /* the highest id drawn, read before the holders; or HORIZON_UNKNOWN */
    uint32_t file; /* the table's file node, read with the holders */
    struct horizon_holder *holders; /* sorted in place */
    int holder_count;
    int64_t now_ms;
};

/* Takes a tick whose questions were asked after the stamp was read, and brings the stamp up to
 * date, for scans that came behind them. false: it belongs to an older epoch, or it contradicts the
 * ticks before it and has begun a new one, or memory ran out and it was dropped. */
bool horizon_tick(struct horizon *horizon, const struct horizon_tick *tick,
                  struct horizon_stamp *stamp);
/* The first scan of the epoch has come this far, or is done. */
void horizon_first_scan(struct horizon *horizon, uint64_t epoch, bool done);
/* The highest id that was claimed; HORIZON_UNKNOWN: none was. *worked: one was since the last call.
 */
int64_t horizon_highest_claimed(struct horizon *horizon, bool *worked);
/* eventfd(2), readable when an epoch has begun; cleared by reading it. */
int horizon_fd(const struct horizon *horizon);

#endif
