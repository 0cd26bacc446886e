#ifndef OUTBOX_SLICES_TURNS_H
#define OUTBOX_SLICES_TURNS_H

#include "outbox/slices/horizon.h"

/*
 * Which slices a lane tries to lock next, and how many: the slice that is furthest behind first, by
 * its bound. Pure. Times: clock_now_ms().
 */

#define SLICES_A_CLAIM_MAX 64

struct turns {
    int count;         /* slices */
    int width;         /* how many the next claim takes at most */
    int floor;         /* and how many when claims are full */
    int narrow;        /* for so many claims one: a row is locked, and it is not known where */
    uint64_t claims;   /* so far */
    uint64_t *claimed; /* the number of the latest claim of each slice */
    int64_t *retry_after_ms; /* of each slice: a row of it is locked by somebody */
    int32_t *candidates;     /* of the claim under way, in their order */
    int candidate_count;
};

/* 0, or -1 when there is no memory. */
int turns_init(struct turns *turns, int count);
void turns_free(struct turns *turns);

/* Fills turns->candidates. */
void turns_choose(struct turns *turns, const struct horizon_bound *bounds, int64_t now_ms);

/* These slices were locked, and gave rows. */
void turns_claimed(struct turns *turns, const int32_t *slices, int count);
/* Decides how many slices the next claim takes. `full`: some of those locked have more rows;
 * `half`: they gave at least half of what a claim may have. */
void turns_adapt(struct turns *turns, int locked, bool full, bool half);

/* Somebody holds a row of these slices. If it is clear of which, that one is left until then. */
void turns_postpone(struct turns *turns, const int32_t *slices, int count, int64_t until_ms);

#endif
