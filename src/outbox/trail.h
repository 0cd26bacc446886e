#ifndef OUTBOX_TRAIL_H
#define OUTBOX_TRAIL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Ids of one slice that wait until no lower one can turn up, see trail.c: what was settled, the
 * newest that a backlog had, or where a survey began. Pure. Times: clock_now_ms(); transactions:
 * xid8.
 */

#define TRAIL_IDS_MAX 4
#define TRAIL_NONE INT64_MIN

struct trail_id {
    int64_t id;
    int64_t drawn_ms; /* before this moment, as all lower ones */
    int64_t fence;    /* a transaction that got its number long enough after it; 0: none yet */
};

/* Higher and higher ids, each added later than the one before. A count of 0: none waits. */
struct trail {
    struct trail_id ids[TRAIL_IDS_MAX];
    int count;
};

/* What a claim saw: every transaction before `xmin` had ended. */
struct sight {
    int64_t xmin;
    int64_t xact;          /* the claim's own, numbered after asked_ms */
    int64_t asked_ms;      /* before the claim looked */
    uint32_t epoch;        /* bounds->epoch when it was asked, */
    uint32_t shared_epoch; /* and that of shared_learn() */
};

/* There was a row of this id. Not kept: one that is no higher, or too close to the latest, or one
 * too many. */
void trail_add(struct trail *trail, int64_t id, int64_t now_ms);
/* The same, of the highest that there is. Where there is no room for it, it takes the place of the
 * latest; where it is lower, of all. */
void trail_add_newest(struct trail *trail, int64_t id, int64_t now_ms);
/* A transaction, numbered after asked_ms, may end the wait for those that drew lower ids. */
void trail_fence(struct trail *trail, int64_t xact, int64_t asked_ms);
/* Whether one is wanted. */
bool trail_lacks_fence(const struct trail *trail, int64_t asked_ms);
/* Up to which id the bound may pass when a claim, from the bound, has settled all it saw up to
 * `last`, and every transaction before `xmin` had ended for it. TRAIL_NONE: it may not. */
int64_t trail_end(const struct trail *trail, int64_t xmin, int64_t last);
/* The bound has passed this id. */
void trail_pass(struct trail *trail, int64_t id);

#endif
