#ifndef OUTBOX_SLICES_SCAN_H
#define OUTBOX_SLICES_SCAN_H

#include "base/error.h"
#include "outbox/slices/horizon.h"

/* A scan without locks for the lowest unsent rows of some slices: the parameters of sql_scan. */

struct scan {
    int count; /* slices first ... first + count - 1, wrapping after the last; 0: no scan */
    int first;
    bool full;       /* from the very beginning, else from the bounds */
    uint64_t sinks;  /* a bit for each whose rows are not looked at */
    char *params[5]; /* owned, once filled */
};

/* 0, or -1: no memory. Free it in either case. */
int scan_fill(struct scan *scan, const struct horizon_view *view, int slices, struct error *error);
void scan_free(struct scan *scan);

/* A round of scans rests for so many times of what it took; one of full scans for twice that. */
#define SCAN_REST 20

/* Slices in turn, so many a statement as it can do in a short time. */
struct round {
    uint64_t epoch;
    int next;
    int width;
    int64_t due_ms;
};

/* A statement over round->width slices took so long. */
void round_adapt(struct round *round, int64_t took_ms, int slices);

#endif
