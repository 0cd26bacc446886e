#ifndef OUTBOX_HORIZON_H
#define OUTBOX_HORIZON_H

#include "outbox/server.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Where the unsent rows of each slice begin: one state for all lanes of a process. docs/horizon.md
 * explains the rule and proves it. Any thread may call any of these functions; none of them does
 * I/O. Times are those of clock_now_ms(). `transaction` is a virtual transaction, packed.
 *
 * The invariant of a bound: no unsent row of its slice has a lower id, and none will ever become
 * visible, unless its id was drawn before its INSERT. `high` holds only for snapshots in which all
 * long holders are still running; `low` holds for every snapshot.
 */

struct horizon;

#define HORIZON_UNKNOWN INT64_MIN /* of an id: nothing is known, look at every row */
#define HORIZON_LONG_MAX 16 /* long holders that are left out; more of them hold the horizon */

/* What was known at one moment. Any snapshot that is taken after it may rest on it. */
struct horizon_stamp {
    uint64_t epoch;      /* 0: nothing is known, and nothing may be told */
    uint64_t generation; /* of the set of long holders: none of them has left since */
    int64_t stable_low;  /* no id up to this one will appear that is not there; */
    int64_t stable_high; /* the same for snapshots in which all long holders are running */
};

struct horizon_bound {
    int64_t low;
    int64_t high;
    bool has_more; /* a claim left rows of it behind; wrong when another process took them since */
    bool skipped;  /* its first scan is under way: a claim would read every entry before it */
};

struct horizon_view {
    struct horizon_stamp stamp;
    uint32_t file;                      /* the table's file node, for which all this is true */
    uint64_t holders[HORIZON_LONG_MAX]; /* xid8 of the long holders */
    int holder_count;
    struct horizon_bound *bounds; /* one a slice; owned */
};

/* NULL: no memory. */
struct horizon *horizon_open(int slices);
void horizon_close(struct horizon *horizon);
int horizon_slices(const struct horizon *horizon);

/* A view for a horizon of so many slices, of which nothing is known. 0, or -1: no memory. */
int horizon_view_init(struct horizon_view *view, int slices);
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
 * knows, and forgets its own bounds when that forgets or when the sinks differ. */
void horizon_read_part(struct horizon *part, struct horizon *horizon, uint64_t sinks,
                       const struct server *server, struct horizon_view *view);

/* A claim from this bound has settled and committed every row that it saw of the slice, from its
 * bound up to `last`; INT64_MAX when it saw the slice to its end. `from_high`: its snapshot had all
 * long holders of the stamp, and it read from the high bound. */
void horizon_advance(struct horizon *horizon, const struct horizon_stamp *stamp, int slice,
                     const struct horizon_bound *from, int64_t last, bool from_high);
/* A scan without locks found no unsent row between this bound and `lowest`. */
void horizon_scanned(struct horizon *horizon, const struct horizon_stamp *stamp, int slice,
                     const struct horizon_bound *from, int64_t lowest, bool from_high);
/* A scan from the very beginning found `lowest` first. true: that is below the bound of `before`,
 * which was read before the scan, so the bound has been taken back. */
bool horizon_full_scanned(struct horizon *horizon, const struct horizon_stamp *stamp, int slice,
                          const struct horizon_bound *before, int64_t lowest);

/* Rows with ids up to this one were claimed. */
void horizon_note_claimed(struct horizon *horizon, int64_t highest);
/* The highest of them; HORIZON_UNKNOWN: none was. */
int64_t horizon_highest_claimed(struct horizon *horizon);
/* A slice has more rows than its last claim took, or has not. */
void horizon_set_more(struct horizon *horizon, uint64_t epoch, int slice, bool has_more);
/* A claim found none in slices that had more: no slice has, for all that is known. */
void horizon_clear_more(struct horizon *horizon);
/* Whether a claim has had rows since the last call. */
bool horizon_take_work(struct horizon *horizon);

/* ---- the thread that keeps it (watch.c) ---- */

/* A transaction that holds RowExclusiveLock on the table. */
struct horizon_holder {
    uint64_t transaction;
    bool prepared; /* by PREPARE TRANSACTION: its virtual transaction is not the one it had */
    uint64_t xid;  /* xid8, running in the snapshot of this tick; 0: it has written nothing yet */
};

struct horizon_tick {
    uint64_t epoch; /* of horizon_epoch(), before the first of the questions was asked */
    int64_t drawn;  /* the highest id drawn, read before the holders; or HORIZON_UNKNOWN */
    uint32_t file;  /* the table's file node, read with the holders */
    struct horizon_holder *holders; /* sorted in place */
    int holder_count;
    int64_t now_ms;
};

/* The current epoch for a session on this server; 0: the lanes are on another one. */
uint64_t horizon_epoch(struct horizon *horizon, const struct server *server);
/* false: it belongs to an older epoch, or contradicts the ticks before it and began a new one. */
bool horizon_tick(struct horizon *horizon, const struct horizon_tick *tick);
/* The stable ids of the latest tick, for a scan that was asked for in the same round trip as that
 * tick and came behind it. */
void horizon_restamp(struct horizon *horizon, struct horizon_stamp *stamp);
/* Whether bounds can be raised by what a scan finds. */
bool horizon_is_stable(struct horizon *horizon);
/* eventfd(2), readable when an epoch has begun; cleared by reading it. */
int horizon_fd(const struct horizon *horizon);
/* Every slice has been scanned once in this epoch: no claim skips any of them. */
void horizon_first_scan_done(struct horizon *horizon, uint64_t epoch);

#endif
