#ifndef RELAY_REPORT_H
#define RELAY_REPORT_H

#include "base/error.h"
#include "base/histogram.h"
#include "message/batch.h"
#include "relay/options.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * What a running process knows of itself. Each lane writes a part of its own, without a lock but
 * for the text of an error; report_read() copies the parts together, in any thread, at any time.
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

enum report_count {
    REPORT_SENT,
    REPORT_RETRIED,               /* tries of rows that were parked before */
    REPORT_PARKED_REFUSED,        /* rows parked for the first time: the broker refused them, */
    REPORT_PARKED_NO_DESTINATION, /* their topic or stream is missing, */
    REPORT_PARKED_PAUSED,         /* their topic or key is paused, */
    REPORT_PARKED_BEHIND,         /* or an earlier row of their key is parked */
    REPORT_DEAD_REJECTED,         /* they can never be sent as they are */
    REPORT_DEAD_ATTEMPTS,         /* they failed max_attempts times */
    REPORT_COUNT_COUNT
};

enum report_time {
    REPORT_CLAIM,   /* a claim that found rows, until they are in memory; microseconds */
    REPORT_PUBLISH, /* a batch, until its last acknowledgement */
    REPORT_SETTLE,  /* a batch, until its COMMIT is confirmed */
    REPORT_DELIVER, /* a row, from its created_at (that is, by default, when the application's
                       transaction began, by the database's clock) until all its batch is
                       acknowledged, by this machine's clock; microseconds */
    REPORT_BATCH,   /* rows a batch */
    REPORT_TIME_COUNT
};

#define REPORT_DATABASE SINKS_MAX /* as a peer: beside the sinks */
#define REPORT_NO_SINK SINKS_MAX  /* of rows: no route fits */
#define REPORT_PEERS (SINKS_MAX + 1)

enum peer_state { PEER_UNKNOWN, PEER_UP, PEER_AWAY };

/* ---- what a lane writes ---- */

/* Of one lane about the database or a sink. Times are those of clock_now_ms(). */
struct lane_peer {
    _Atomic int state; /* enum peer_state */
    _Atomic int64_t since_ms;
    _Atomic uint64_t connects;
    _Atomic int64_t recognise_ms; /* sinks: broker_recognise_ms() */
    int64_t error_ms;             /* below the lock; 0: there was no error */
    struct error error;           /* the last one */
};

struct lane_report {
    int number; /* from 1 */
    _Atomic int state;
    _Atomic int64_t state_ms;
    _Atomic int64_t claimed_ms;    /* when its claim transaction began; 0: none is open */
    _Atomic int handed[SINKS_MAX]; /* messages that a client has and has not answered */
    _Atomic uint64_t counts[REPORT_PEERS][REPORT_COUNT_COUNT];
    struct histogram times[REPORT_TIME_COUNT];
    struct lane_peer peers[REPORT_PEERS];
    pthread_mutex_t lock; /* of the errors */
};

void lane_report_init(struct lane_report *lane, int number);
void lane_report_enter(struct lane_report *lane, enum lane_state state);
/* A claim has been sent, or its transaction is over. */
void lane_report_claim(struct lane_report *lane, bool is_open);
/* `peer` is the index of a sink, or REPORT_DATABASE. Cheap when it was up already. */
void lane_report_up(struct lane_report *lane, int peer);
void lane_report_away(struct lane_report *lane, int peer, const struct error *error);
/* An error of a peer that is up all the same. */
void lane_report_error(struct lane_report *lane, int peer, const struct error *error);
void lane_report_time(struct lane_report *lane, enum report_time time, int64_t value);
/* The rows of a batch that has been acknowledged, and later of one that has been settled. */
void lane_report_delivered(struct lane_report *lane, const struct batch *batch);
void lane_report_settled(struct lane_report *lane, const struct batch *batch);
uint64_t lane_report_total(const struct lane_report *lane, enum report_count count);

/* ---- the process ---- */

struct report {
    const struct relay_options *options;
    int64_t started_ms;
    struct lane_report *lanes[LANES_MAX]; /* all are there before the first thread starts */
    int lane_count;
    _Atomic int64_t publish_timeout_ms; /* the longest of those that lanes may work with */
    _Atomic int64_t poll_interval_ms;   /* the same */
    _Atomic int64_t turned_ms;          /* when the main thread has turned last */
    _Atomic int64_t watched_ms;         /* when the watcher has */
    _Atomic int64_t still_ms;           /* horizon_stands_still_ms() */
    _Atomic int64_t unsent_from;        /* horizon_lowest() */
};

void report_init(struct report *report, const struct relay_options *options);
/* From here on lanes may work with these. */
void report_set_limits(struct report *report, const struct relay_options *options);
void report_add_lane(struct report *report, struct lane_report *lane);
uint64_t report_total(const struct report *report, enum report_count count);
/* A bit for each sink that a lane cannot use. */
uint64_t report_away(const struct report *report);

/* ---- a snapshot; times are ages in milliseconds ---- */

struct peer_report {
    const char *name;      /* of the sink, or "database"; lives as long as the options */
    enum peer_state state; /* away: at least one lane cannot use it */
    int64_t state_for_ms;
    int64_t since_ms; /* the same as a moment, in milliseconds since 1970 */
    int lanes_away;
    uint64_t connects;    /* of all lanes */
    int handed;           /* sinks: messages that the clients have and have not answered */
    int64_t recognise_ms; /* sinks: for how long repeats are dropped; 0: never, or unknown */
    int64_t error_for_ms; /* how long ago the last error was; -1: there was none */
    struct error error;
};

struct sink_report {
    struct peer_report peer;
    const char *type;
};

struct lane_snapshot {
    int number;
    enum lane_state state;
    int64_t state_for_ms;
    int64_t claim_for_ms; /* how long its claim transaction is open; -1: none is */
};

struct relay_report {
    int64_t now_ms; /* milliseconds since 1970 */
    int64_t up_for_ms;
    int64_t publish_timeout_ms;
    int64_t poll_interval_ms;
    int64_t turned_for_ms;  /* since the main thread turned, which does so each second */
    int64_t watched_for_ms; /* since the watcher did */
    int64_t still_for_ms;   /* how long the highest stable id has not moved; 0: it is level */
    struct peer_report database;
    struct sink_report sinks[SINKS_MAX];
    int sink_count;
    struct lane_snapshot lanes[LANES_MAX];
    int lane_count;
    uint64_t counts[REPORT_PEERS][REPORT_COUNT_COUNT]; /* by sink, and REPORT_NO_SINK */
    struct histogram_sum times[REPORT_TIME_COUNT];
};

/* About 60 KiB. */
void report_read(const struct report *report, struct relay_report *out);
const char *lane_state_name(enum lane_state state);

/*
 * Whether every thread turns: false when one has been in one state for longer than the
 * configuration and the program's own deadlines allow; `why` says which one and for how long.
 */
bool report_is_healthy(const struct relay_report *report, char *why, size_t size);

#endif
