#ifndef OUTBOX_SLICES_SCAN_H
#define OUTBOX_SLICES_SCAN_H

#include "base/error.h"
#include "outbox/slices/horizon.h"
#include "pg/session.h"

/* The parameters of the scans in sql/, which find the lowest unsent id of each of some slices. It
 * locks none of the rows. */

#define SCAN_PARAMS 5
#define SCAN_AWAY 4 /* the index of the last one */

struct scan {
    int count; /* slices first ... first + count - 1, wrapping after the last; 0: no scan */
    int first;
    bool full;     /* scan from the start of the slices, not from their bounds */
    uint64_t away; /* a bit for each sink whose rows are ignored */

    struct array params[SCAN_PARAMS]; /* set by scan_fill(), which may not be copied */
    void *memory;
    uint64_t away_wire;
};

/* Returns 0, or -1 when there is no memory. Call scan_free() in either case. */
int scan_fill(struct scan *scan, const struct horizon_view *view, int slices, struct error *error);
void scan_free(struct scan *scan);

/* The columns of a scan's result, in text format. */
enum scan_column {
    SCAN_SLICE,
    SCAN_LOWEST, /* its lowest unsent id; NULL: none */
    SCAN_READ_HIGH,
    SCAN_END, /* of scan.sql: the last id of the window; NULL: there are fewer rows */
    SCAN_COLUMNS
};

/* Returns the next result of the session, which must be a scan's, as session_answer() does. */
PGresult *scan_answer(struct session *session, struct error *error);

/* Scans are followed by a pause of this many times their duration; full scans, of twice as many. */
#define SCAN_REST 20

/* A round visits all slices in turn; each statement scans as many as it can in a short time. */
struct scan_round {
    uint64_t epoch;
    int next;       /* the first slice of the next statement */
    int width;      /* how many slices the next statement scans */
    int64_t due_ms; /* when the next statement is due */
};

/* Adapts round->width after a statement that took `took_ms`. */
void scan_round_adapt(struct scan_round *round, int64_t took_ms, int slices);

#endif
