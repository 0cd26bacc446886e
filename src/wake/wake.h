#ifndef WAKE_WAKE_H
#define WAKE_WAKE_H

#include "wake/stop.h"

#include <stdbool.h>
#include <stdint.h>

/* What the lanes of a process wait on when there is nothing to claim. Any thread may call any of
 * these. */

struct wake;

/* For so many lanes, which look every poll_ms at the latest when nothing calls them. NULL: no
 * memory, or no file descriptor. */
struct wake *wake_open(int lanes, int64_t poll_ms);
void wake_close(struct wake *wake);

/* How long a lane rests behind a batch of so many rows that was all there was: see wake.c. */
int64_t wake_rest_ms(int rows);

struct wait {
    int64_t rest_ms; /* then the lane looks by itself, whatever the others do */
    int64_t pace_ms; /* so soon is the next look due when it has had rows meanwhile; else 0 */
    bool whole;      /* it takes all rows; else it leaves some to the other lanes */
};

/* A lane that found nothing, or that took all there was, waits until it is to look again, or until
 * a stop is requested. One lane at a time is made to look. */
void wake_wait(struct wake *wake, const struct stop *stop, const struct wait *wait);

/* A lane had rows. `more`: it could not take all of them, so the waiting lanes look too. */
void wake_found(struct wake *wake, bool more);

/* How many looks had rows since the last time, for the watcher: calls that were worth it. */
int wake_take_found(struct wake *wake);

/* There may be new rows: a lane looks, now or as soon as one waits. */
void wake_call(struct wake *wake);

/* After stop_request: ends every wait. */
void wake_stop(struct wake *wake);

/* The watcher's side. All lanes wait, and the last look found nothing: */
bool wake_is_quiet(struct wake *wake);
/* From now on every insert calls: one lane looks, then none for a second at least. false: a lane is
 * at work, and nothing has changed. */
bool wake_arm(struct wake *wake);
/* Inserts do not call any more, or not all of them. */
void wake_disarm(struct wake *wake);
/* Another relay is armed, whose calls reach this one too: no look is owed, but they are as rare. */
void wake_cover(struct wake *wake, bool covered);
/* eventfd(2), readable when the lanes may have become quiet; cleared by reading it. */
int wake_fd(const struct wake *wake);

#endif
