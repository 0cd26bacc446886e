#ifndef RELAY_LANE_H
#define RELAY_LANE_H

#include "broker/broker.h"
#include "relay/memory.h"
#include "relay/missing.h"
#include "relay/options.h"
#include "relay/pauses.h"
#include "relay/report.h"
#include "relay/sinks.h"
#include "relay/turn.h"
#include "source/outbox.h"
#include "trace/traced.h"
#include "wake/stop.h"
#include "wake/wake.h"

/*
 * A lane has one PostgreSQL connection, one handle of each broker, and one batch. It does not know
 * of threads: lane_step() is a plain blocking function that tests call directly.
 */

struct lane {
    int number; /* from 1 */
    const struct relay_options *options;
    struct relay_options *own; /* owned copy behind `options` after a reload; NULL: none */
    _Atomic(struct relay_options *) next; /* options to change to between two steps; NULL: none */
    const struct stop *stop;
    struct wake *wake;       /* what an idle lane waits on; NULL: it polls every poll_interval */
    struct memory *memory;   /* what the brokers have acknowledged; NULL: nothing is kept */
    struct missing *missing; /* the list of missing destinations; NULL: none is kept */
    struct trace *trace;     /* where spans go; NULL: nowhere */
    _Atomic bool *worked;    /* a step of any lane of the process has succeeded; NULL: unknown */
    /* Called before the lane's first line about a row, to log first that its servers are connected;
     * NULL: nothing is called. */
    void (*announce)(void *closure);
    void *closure;
    bool announced;
    struct outbox *outbox;
    struct lane_sinks sinks;
    struct pauses pauses;
    int64_t read_pauses_at_ms; /* when the pauses are read next, while a sink is paused */
    struct batch batch;
    struct traced traced; /* the batch's rows that become spans */
    struct lane_report report;
    struct error error;         /* why the last step was LANE_BROKEN */
    bool settle_failed;         /* the last settlement failed */
    struct turns_of_lane turns; /* whose rows are claimed next */
    struct declined declined;   /* the parked rows that are left to other relays */
    uint32_t random;
};

enum lane_result {
    LANE_MORE,  /* a batch was settled; there may be another */
    LANE_IDLE,  /* nothing to claim */
    LANE_BROKEN /* the database or all sinks are away, or publishing failed: see lane->error */
};

/* 0, or -1 with *error set. Call lane_close in either case. */
int lane_init(struct lane *lane, int number, const struct relay_options *options,
              struct memory *memory, const struct stop *stop, struct error *error);
/* Frees what the lane owns; may be called twice. The report and the error remain
 * valid. */
void lane_close(struct lane *lane);
/* The brokers alone. */
void lane_close_brokers(struct lane *lane);

/* Builds a session name for pg_stat_activity: "HOST:PID/PART". PART is a lane's number or another
 * role. */
void lane_name_session(char *out, size_t size, const char *part);

/* Callable from any thread. After its current batch the lane uses a copy of these options, which
 * must have the same sinks and the same table. 0, or -1: out of memory. */
int lane_offer_options(struct lane *lane, const struct relay_options *options);
/* Call between two steps. Changes to the offered options, and reconnects where connections or
 * statements depend on them. */
void lane_take_options(struct lane *lane);

/* One batch: claim, route, publish, settle. */
enum lane_result lane_step(struct lane *lane);

enum lane_end { LANE_STOPPED, LANE_DRAINED, LANE_FAILED };

/* Repeats lane_step until a stop is requested, until nothing is left (with `drain`), or until an
 * error that will not go away: any permanent database error before the first successful step, only
 * fatal ones after. */
enum lane_end lane_run(struct lane *lane, bool drain);

#endif
