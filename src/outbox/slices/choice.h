#ifndef OUTBOX_SLICES_CHOICE_H
#define OUTBOX_SLICES_CHOICE_H

#include "outbox/slices/horizon.h"

/*
 * Decides which slices a lane tries to lock next, and how many. The slice with the lowest bound
 * comes first. No I/O and no mutexes; times are those of clock_now_ms().
 */

#define SLICES_PER_CLAIM_MAX 64

struct slice_choice {
    int count;         /* number of slices */
    int width;         /* how many slices the next claim locks at most */
    int busy_width;    /* how many it locks at most while claims are full */
    int single_claims; /* how many more claims lock one slice only, to find that of a locked row */
    uint64_t claims;   /* number of claims so far */
    uint64_t *last_claim;    /* for each slice, the number of its latest claim */
    int64_t *retry_after_ms; /* for each slice, when to try it again after a row was locked; or 0 */
    int32_t *candidates;     /* the slices that the next claim may lock, in order */
    int candidate_count;
    int only; /* the next claim may lock no other slice; -1: any */
};

/* Returns 0, or -1 when there is no memory. */
int choice_init(struct slice_choice *choice, int count);
void choice_free(struct slice_choice *choice);

/* Fills choice->candidates. */
void choice_list_candidates(struct slice_choice *choice, const struct horizon_bound *bounds,
                            int64_t now_ms);

/* Records that a claim locked these slices and got rows. */
void choice_note_claimed(struct slice_choice *choice, const int32_t *slices, int count);
/* Decides how many slices the next claim locks. `full`: some of the locked slices have more rows;
 * `half`: the claim got at least half of its row limit. */
void choice_adapt_width(struct slice_choice *choice, int locked, bool full, bool half);

/* Another session has locked a row of one of these slices. If it is known which slice, that one is
 * not a candidate until `until_ms`; otherwise the next claims find out. */
void choice_postpone(struct slice_choice *choice, const int32_t *slices, int count,
                     int64_t until_ms);

#endif
