#ifndef OUTBOX_BOUNDS_PASS_H
#define OUTBOX_BOUNDS_PASS_H

#include "outbox/bounds.h"

/* How a lane's bounds pass what has been settled: see bounds_pass.c. Pure. */

/* Rows of it were claimed from this id on: whether its bound had passed that. Then it has none any
 * more, and the newest ids are not asked for for a while. */
bool bounds_take_back(struct bounds *bounds, int slice, int64_t first, int64_t now_ms);
/* All that a claim saw of it up to `last` is settled. */
void bounds_settled(struct bounds *bounds, int slice, int64_t last, const struct sight *sight,
                    int64_t now_ms);

/* A transaction, numbered after asked_ms, may end the wait for those that drew ids before it. */
void bounds_fence(struct bounds *bounds, int64_t xact, int64_t asked_ms);
/* Whether one is wanted. */
bool bounds_lack_fence(const struct bounds *bounds, int64_t asked_ms);
/* Whether the newest unsent ids of all slices, as a look, are to be asked for, because some have
 * rows for sure; not soon again without an answer. */
bool bounds_ask_newest(struct bounds *bounds, int64_t now_ms);
/* The answer, for each slice that has one; and that was all, after so long. */
void bounds_newest(struct bounds *bounds, int slice, int64_t id, int64_t now_ms);
void bounds_told_newest(struct bounds *bounds, int64_t took_ms, int64_t now_ms);

/* The slices whose bound could pass if they are empty, as a look. 0: there is none. */
int bounds_pending(struct bounds *bounds, const struct sight *sight);
/* This one is, for a snapshot no older than `sight`: from its first id on nothing is left. */
void bounds_empty(struct bounds *bounds, int slice, const struct sight *sight, int64_t now_ms);

#endif
