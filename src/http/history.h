#ifndef HTTP_HISTORY_H
#define HTTP_HISTORY_H

#include <jansson.h>
#include <stdint.h>

/*
 * What the process has measured in the last hour, for the curves of the status page: a point each
 * HISTORY_STEP_MS. It is in memory alone, so it begins with the process, and each relay of a table
 * has its own. Not thread-safe.
 */

#define HISTORY_STEP_MS 15000
#define HISTORY_POINTS (3600000 / HISTORY_STEP_MS)

struct history {
    struct history_point {
        int64_t at_ms; /* when it began, clock_now_ms() */
        double unsent; /* the highest numbers of rows and ages in this time; below 0: unknown */
        double oldest_s;
        uint64_t sent; /* by this process until then */
    } points[HISTORY_POINTS];
    int count; /* of all that were begun; the newest HISTORY_POINTS are kept */
};

/* Adds a measurement. Below 0: unknown, because it failed. */
void history_add(struct history *history, int64_t now_ms, double unsent, double oldest_s,
                 uint64_t sent);

/* The points of the last hour as columns, the oldest first: {"seconds_ago": [...], "unsent": [...],
 * "oldest_seconds": [...], "sent": [...]}. NULL: no memory. */
json_t *history_pack(const struct history *history, int64_t now_ms);

#endif
