#ifndef RELAY_PACE_H
#define RELAY_PACE_H

#include <stdint.h>

/*
 * How long a lane rests behind a step that took all there was.
 *
 * A batch costs the database as much as some hundred rows, whatever it holds. Where it takes longer
 * over a small one than it can, it is busy, with those who insert: there the lane rests longer, and
 * its next batch is larger. How fast it can, with the way to it, is the quickest of late.
 * Pure: no I/O, no clock.
 */

#define PACE_FIRST_MS 1

/* Begins as zeros. */
struct pace {
    int64_t quick_ms; /* 0: not known */
    int steps;        /* small ones */
};

/* Milliseconds, behind a step with so many rows over which the database took so long. */
int64_t pace_behind(struct pace *pace, int rows, int64_t database_ms);

#endif
