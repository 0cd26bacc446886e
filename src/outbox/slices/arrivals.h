#ifndef OUTBOX_SLICES_ARRIVALS_H
#define OUTBOX_SLICES_ARRIVALS_H

#include "catalog/notify.h"
#include "outbox/slices/horizon.h"
#include "outbox/slices/questions.h"

/*
 * What arrives at the watcher's session: notifications of inserts, which wake idle lanes, and the
 * questions of `status`. Notifications only speed things up: without them a row is delivered too,
 * but later.
 *
 * Functions that return int return 0, or -1 with *error set: the session is to be closed.
 */

#define CREDIT_TICK 4 /* the polls of a second, by default */

struct arrivals {
    const struct watch_process *process;
    struct session *session;         /* the watcher's */
    const struct table *table;       /* as it was described last */
    const struct horizon_view *view; /* of the last tick */
    struct questions questions;
    struct notify notify; /* the trigger, as of the last check */
    bool answering;       /* the session listens for the questions of `status` */
    bool listening;       /* the session listens for notifications of inserts */
    bool armed;           /* the session holds the lock: every insert notifies */
    bool warned;          /* a warning that inserts do not wake this relay has been logged */
    int64_t check_at_ms;  /* when the trigger is checked next; 0: at once */
    int64_t arm_at_ms;    /* when the next attempt to arm is due */
    int notifications;    /* notifications since counted_since_ms */
    int64_t counted_since_ms;
    int64_t credit;
    uint64_t rows; /* the rows for which credit was given: sent ones and ids drawn */
};

/* The session has connected: listens for questions. */
int arrivals_begin(struct arrivals *arrivals, struct error *error);
/* The session has ended. Lanes are woken, because notifications may have been missed. */
void arrivals_end(struct arrivals *arrivals);

/* Reads what has arrived, without waiting. */
int arrivals_hear(struct arrivals *arrivals, struct error *error);
/* Starts what the session should listen for, checks it, and arms. */
int arrivals_listen(struct arrivals *arrivals, struct error *error);
/* Earns credit for the rows since the last call, and so much more. To be called at each tick. */
void arrivals_earn(struct arrivals *arrivals, int64_t more);

#endif
