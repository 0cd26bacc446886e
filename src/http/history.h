#ifndef HTTP_HISTORY_H
#define HTTP_HISTORY_H

#include "http/sampler.h"

#include <stdint.h>

/* The last ten minutes, for the curves of the status page. Used by one thread. */

#define HISTORY_MS 5000
#define HISTORY_POINTS 121

struct point {
    int64_t at_ms;  /* clock_now_ms() */
    double backlog; /* -1 here and in the next field: unknown */
    double oldest_s;
    uint64_t sent; /* by this process since its start */
};

struct history {
    struct point points[HISTORY_POINTS]; /* a ring */
    int next;
    int count;
};

void history_add(struct history *history, const struct sample *sample, uint64_t sent);
/* The points from the oldest (0) to the newest (count - 1). */
const struct point *history_at(const struct history *history, int index);
/* Rows per second that this process has sent lately; -1: unknown yet. */
double history_rate(const struct history *history);

#endif
