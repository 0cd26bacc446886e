#ifndef RELAY_REPORT_H
#define RELAY_REPORT_H

#include "base/error.h"
#include "message/batch.h"
#include "relay/options.h"
#include "relay/trouble.h"
#include "trace/trace.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * What a running process knows about itself. Each lane writes its own part, with a lock only for
 * the text of an error. report_read() combines the parts; any thread may call it at any time.
 */

enum lane_state {
    LANE_IS_STARTING,
    LANE_IS_CONNECTING, /* to the database or to a broker */
    LANE_IS_CLAIMING,
    LANE_IS_PUBLISHING,
    LANE_IS_SETTLING,
    LANE_IS_IDLE,    /* nothing is due */
    LANE_IS_WAITING, /* after a failure, until it tries again */
    LANE_IS_ENDED,
    LANE_STATE_COUNT
};

/* The reasons of parked rows are together, and after them those of dead rows: report_totals(). */
enum report_count {
    REPORT_SENT,
    REPORT_RETRIED,          /* further attempts, of rows that were parked before */
    REPORT_PARKED_RETRY,     /* rows parked for the first time, by state: refused by the broker, */
    REPORT_PARKED_WAITING,   /* with a missing topic or stream, */
    REPORT_PARKED_PAUSED,    /* with a paused topic or key, */
    REPORT_PARKED_SCHEDULED, /* before their time, */
    REPORT_PARKED_BEHIND,    /* or behind an earlier parked row of their key */
    REPORT_DEAD_REJECTED,    /* dead rows: they can never be sent as they are, */
    REPORT_DEAD_ATTEMPTS,    /* or they failed max_attempts times */
    REPORT_COUNT_COUNT
};

enum report_time {
    REPORT_CLAIM,   /* a claim that found rows, until they are in memory; microseconds */
    REPORT_PUBLISH, /* a batch, until its last acknowledgement */
    REPORT_SETTLE,  /* a batch, until its COMMIT is confirmed */
    REPORT_DELIVER, /* a row, from its created_at (by default the start of the application's
                       transaction, by the database's clock) until its whole batch is acknowledged,
                       by this machine's clock; microseconds */
    REPORT_BATCH,   /* rows a batch */
    REPORT_TIME_COUNT
};

#define REPORT_DATABASE SINKS_MAX /* as a peer, after the sinks */
#define REPORT_NO_SINK SINKS_MAX  /* counts rows that no route matches */
#define REPORT_PEERS (SINKS_MAX + 1)

/* Of several lanes the last of these counts. A paused sink is not tried, so nothing else is known.
 */
enum peer_state { PEER_UNKNOWN, PEER_UP, PEER_PAUSED, PEER_AWAY };

/* ---- histograms ---- */

/* Counts of values below fixed bounds. One thread writes a histogram, without locks; any thread may
 * read it meanwhile. */

#define HISTOGRAM_BOUNDS_MAX 20

struct histogram_scale {
    int64_t bounds[HISTOGRAM_BOUNDS_MAX]; /* ascending; a bucket holds values up to its bound */
    int count;
};

struct histogram {
    const struct histogram_scale *scale;
    _Atomic uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1]; /* by bucket; the last: above all bounds */
    _Atomic uint64_t sum;
};

/* What several histograms of one scale have counted together. */
struct histogram_sum {
    const struct histogram_scale *scale; /* NULL: nothing has been added */
    uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1];
    uint64_t sum;
};

/* ---- what a lane writes ---- */

/* One lane's view of the database or of a sink. Times are those of clock_now_ms(). */
struct lane_peer {
    _Atomic int state; /* enum peer_state */
    _Atomic int64_t since_ms;
    _Atomic uint64_t connects;
    _Atomic int64_t recognise_ms;    /* sinks: as struct broker */
    _Atomic bool keeps_nothing;      /* sinks: as struct broker */
    _Atomic(const char *) key_order; /* sinks: as struct broker */
    _Atomic(const char *) server;    /* sinks: as struct broker */
    int64_t error_at_ms; /* when it occurred, guarded by `lock`; 0: there was no error */
    struct error error;  /* the last error, guarded by `lock` */
};

struct lane_report {
    int number; /* from 1 */
    _Atomic int state;
    _Atomic int64_t state_at_ms;
    _Atomic int64_t sent_at_ms;    /* when it settled a sent row last; 0: it has not */
    _Atomic int64_t claimed_at_ms; /* when its claim transaction began; 0: none is open */
    _Atomic int handed[SINKS_MAX]; /* messages handed to the client and not answered yet */
    _Atomic int64_t waits_since_ms[SINKS_MAX]; /* the lane waits for this sink; 0: it does not */
    _Atomic uint64_t counts[REPORT_PEERS][REPORT_COUNT_COUNT];
    struct histogram times[REPORT_TIME_COUNT];
    struct lane_peer peers[REPORT_PEERS];
    struct trouble trouble; /* why it makes no progress */
    pthread_mutex_t lock;   /* guards the errors */
};

void lane_report_init(struct lane_report *lane, int number);
void lane_report_enter(struct lane_report *lane, enum lane_state state);
/* A claim has been sent (is_open), or its transaction has ended. */
void lane_report_claim(struct lane_report *lane, bool is_open);
/* `peer` is the index of a sink, or REPORT_DATABASE. Cheap if the peer was up already. */
void lane_report_up(struct lane_report *lane, int peer);
void lane_report_paused(struct lane_report *lane, int peer);
void lane_report_away(struct lane_report *lane, int peer, const struct error *error);
/* Notes an error of a peer that is up nevertheless. */
void lane_report_error(struct lane_report *lane, int peer, const struct error *error);
/* So many messages were handed to a sink; 0: none is unanswered any more. */
void lane_report_handed(struct lane_report *lane, int sink, int count);
/* Whether the lane waits for this sink, which a sink that has its turn later does not delay. */
void lane_report_waits(struct lane_report *lane, int sink, bool waits);
void lane_report_time(struct lane_report *lane, enum report_time time, int64_t value);
/* Count the rows of a batch after it was acknowledged, and again after it was settled. */
void lane_report_delivered(struct lane_report *lane, const struct batch *batch);
void lane_report_settled(struct lane_report *lane, const struct batch *batch);
uint64_t lane_report_total(const struct lane_report *lane, enum report_count count);

/* ---- the process ---- */

struct report {
    const struct relay_options *options;
    char name[48]; /* HOST:PID, as the names of its sessions begin; "": not known */
    int64_t started_ms;
    struct lane_report *lanes[LANES_MAX]; /* complete before the first thread starts */
    int lane_count;
    struct trouble *watcher;            /* why the watcher makes no progress; NULL: there is none */
    struct trace *trace;                /* where spans go; NULL: nowhere */
    _Atomic int64_t publish_timeout_ms; /* the longest that a lane may be using */
    _Atomic int64_t poll_interval_ms;   /* likewise */
    _Atomic int64_t loop_at_ms;         /* when the main thread last completed a loop */
    _Atomic int64_t watcher_loop_at_ms; /* when the watcher did */
    _Atomic int64_t still_ms;           /* horizon_stands_still_ms() */
    _Atomic int64_t unsent_from;        /* horizon_lowest() */
};

void report_init(struct report *report, const struct relay_options *options);
/* From now on lanes may use these options. */
void report_set_limits(struct report *report, const struct relay_options *options);
void report_add_lane(struct report *report, struct lane_report *lane);
uint64_t report_total(const struct report *report, enum report_count count);
/* How often lanes have connected to the database. */
uint64_t report_connects(const struct report *report);
/* A bit for each sink that a lane cannot use. */
uint64_t report_away(const struct report *report);

/* ---- a snapshot; times are ages in milliseconds ---- */

struct peer_report {
    const char *name;      /* of the sink, or "database"; lives as long as the options */
    const char *type;      /* of the sink; NULL: it is the database */
    enum peer_state state; /* away: at least one lane cannot use it */
    int64_t state_for_ms;
    int64_t since_ms; /* when this state began, in milliseconds since 1970 */
    int lanes_away;
    uint64_t connects;     /* connections made by all lanes */
    int64_t silent_ms;     /* sinks: for how long a lane has waited for this one; 0: none does */
    const char *server;    /* sinks: which that lane uses; NULL: any of the options' */
    int handed;            /* sinks: messages handed to the clients and not answered yet */
    int64_t recognise_ms;  /* sinks: for how long repeats are dropped; 0: never, or unknown */
    bool keeps_nothing;    /* sinks: the broker acknowledges and stores none */
    const char *key_order; /* sinks: as struct broker */
    int64_t error_for_ms;  /* how long ago the last error was; -1: there was none */
    struct error error;
};

struct lane_snapshot {
    int number;
    enum lane_state state;
    int64_t state_for_ms;
    int64_t claim_for_ms; /* how long its claim transaction has been open; -1: none is */
};

struct relay_report {
    int64_t now_ms; /* milliseconds since 1970 */
    int64_t up_for_ms;
    int64_t publish_timeout_ms;
    int64_t poll_interval_ms;
    int64_t loop_for_ms; /* since the main thread completed a loop, as it does each second */
    int64_t watcher_loop_for_ms; /* since the watcher did */
    int64_t still_for_ms;        /* how long the highest stable id has not moved; 0: it is level */
    struct peer_report peers[REPORT_PEERS]; /* the sinks, and REPORT_DATABASE */
    int sink_count;
    struct lane_snapshot lanes[LANES_MAX];
    int lane_count;
    uint64_t counts[REPORT_PEERS][REPORT_COUNT_COUNT]; /* by sink; the last one is REPORT_NO_SINK */
    struct histogram_sum times[REPORT_TIME_COUNT];
    struct trouble_list troubles;
    int64_t failing_for_ms; /* the longest of them; 0: each thread makes progress */
    int failing_lanes;      /* lanes that make no progress */
    uint64_t failures;      /* failed steps of the lanes and the watcher */
    struct trace_report trace;
    int64_t sent_for_ms; /* how long ago the last row was sent; -1: none was */
};

/* Fills *out, which takes about 60 KiB. */
void report_read(const struct report *report, struct relay_report *out);
const char *lane_state_name(enum lane_state state);

/* Rows, whatever the reason why they are parked or dead. */
struct report_totals {
    uint64_t sent;
    uint64_t retried;
    uint64_t parked;
    uint64_t dead;
};

#define REPORT_ALL (-1)

/* Of a sink, of REPORT_NO_SINK, or of REPORT_ALL. */
struct report_totals report_totals(const struct relay_report *report, int sink);

/* Whether the database has been one, for a while, that only a new process would take. */
bool report_needs_restart(const struct relay_report *report);
/*
 * Whether a restart would help nothing: every thread makes progress, and the database is not one
 * that only a new process would take. A thread does not when it has been in one state for longer
 * than the configuration and the program's own deadlines allow. `why` says what is wrong.
 */
bool report_is_healthy(const struct relay_report *report, char *why, size_t size);

#endif
