#ifndef RELAY_LANE_H
#define RELAY_LANE_H

#include "broker/broker.h"
#include "outbox/outbox.h"
#include "relay/options.h"
#include "relay/pauses.h"
#include "relay/report.h"
#include "relay/sinks.h"
#include "wake/stop.h"
#include "wake/wake.h"

/*
 * A lane is one PostgreSQL connection, one handle of each broker and one batch. It knows nothing of
 * threads: lane_step() is a plain blocking function, and a test calls it directly.
 */

struct lane {
    int number; /* from 1 */
    const struct relay_options *options;
    const struct stop *stop;
    struct wake *wake; /* what it waits on when it is idle; NULL: it polls by itself */
    struct outbox *outbox;
    struct lane_sinks sinks;
    struct pauses pauses;
    int64_t pauses_look_ms; /* when the pauses are looked at next, while a sink is paused */
    struct batch batch;
    struct lane_report report;
    struct error error;     /* why the last step was LANE_BROKEN */
    bool claimed_ahead;     /* the next outbox claim is already under way */
    int64_t parked_look_ms; /* when the parked rows are looked at next */
    bool unclaimed;         /* the last claim failed: only one that succeeds proves otherwise; */
    bool unsettled;         /* the same of the last settle */
    bool outbox_next;       /* it is the outbox's turn, not that of the parked rows */
    bool outbox_empty;      /* when it was claimed from last */
    uint32_t random;
};

enum lane_result {
    LANE_MORE,  /* a batch was settled; there may be another */
    LANE_IDLE,  /* nothing to claim */
    LANE_BROKEN /* the database or every sink is away, or a publish failed: lane->error says which
                 */
};

/* 0, or -1 with *error set. Close it in either case. */
int lane_init(struct lane *lane, int number, const struct relay_options *options,
              const struct stop *stop, struct error *error);
/* Lets go of the connections and the memory; may be called twice. The report and the error stay. */
void lane_close(struct lane *lane);

/* "HOST:PID/PART", a lane's number or what else connects: what pg_stat_activity shows. */
void lane_name_session(char *out, size_t size, const char *part);

/* One batch: claim, route, publish, settle. */
enum lane_result lane_step(struct lane *lane);

enum lane_end { LANE_STOPPED, LANE_DRAINED, LANE_FAILED };

/* Steps until a stop is requested, until nothing is left (with `drain`), or until an error that
 * waiting cannot mend: at the start any permanent one of the database, later only fatal ones. */
enum lane_end lane_run(struct lane *lane, bool drain);

#endif
