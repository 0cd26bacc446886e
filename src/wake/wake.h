#ifndef WAKE_WAKE_H
#define WAKE_WAKE_H

#include "wake/stop.h"

#include <stdbool.h>
#include <stdint.h>

/* Lets the lanes of a process wait when there is nothing to claim, and wakes them. Any thread may
 * call these functions. */

struct wake;

/* Without notifications the lanes poll at least every `poll_ms`. NULL: no memory. */
struct wake *wake_open(int lanes, int64_t poll_ms);
void wake_close(struct wake *wake);
/* Changes poll_ms from the next wait on. */
void wake_set_poll(struct wake *wake, int64_t poll_ms);

/* How long a lane rests after a batch of `rows` rows that emptied the outbox: see wake.c. */
int64_t wake_pace_ms(int rows);

struct wait {
    int64_t poll_anyway_ms; /* until the lane polls, whatever the others do */
    int64_t pace_ms;        /* until the next poll of any lane, if this one has had rows; else 0 */
    bool whole;             /* the lane claims rows of all sinks: none is away */
};

/* Waits until the calling lane is to poll again, or until a stop is requested. To be called when it
 * found no rows or claimed all of them. One lane at a time is made to poll. */
void wake_wait(struct wake *wake, const struct stop *stop, const struct wait *wait);

/* Reports that a lane could not claim all rows, so the waiting lanes poll too. */
void wake_others(struct wake *wake);

/* Reports that there may be new rows: a lane polls, now or as soon as one waits. */
void wake_notify(struct wake *wake);

/* Ends every wait; to be called after stop_request(). */
void wake_stop(struct wake *wake);

/* The functions below are for the watcher. */

/* Whether all lanes wait and the last poll found nothing. */
bool wake_is_quiet(struct wake *wake);
/* From now on every insert notifies, until wake_disarm(): one lane polls at once, and from then on
 * once a second. */
void wake_arm(struct wake *wake);
/* From now on inserts do not notify, or not all of them. */
void wake_disarm(struct wake *wake);

#endif
