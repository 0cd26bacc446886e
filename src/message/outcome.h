#ifndef MESSAGE_OUTCOME_H
#define MESSAGE_OUTCOME_H

#include "message/batch.h"

/*
 * The delay after failed attempt number `attempt` (from 1): first_ms, doubled for each further
 * attempt, capped at max_ms, then reduced by a random share of up to half. `random` is any 32
 * random bits. The result is at least 1 ms.
 */
int64_t backoff_ms(int64_t first_ms, int64_t max_ms, int attempt, uint32_t random);
/* The next of a series of random numbers, for jitter. */
uint32_t backoff_random(uint32_t *state);

struct retry_options {
    int max_attempts; /* a message is dead after this many attempts */
    int64_t backoff_ms;
    int64_t backoff_max_ms;
};

/* Decides each message's outcome from its verdict and its attempts, and counts the attempt when the
 * verdict says so. A message held back by an earlier one of its key gets OUTCOME_BEHIND, or stays
 * unsent when the earlier one does. `random` seeds the jitter. */
void outcome_decide(struct batch *batch, const struct retry_options *options, uint32_t random);

/* With on_sent = "position" a row that stays unsent would hold back the position of its slice, and
 * the later rows, which are settled, would be sent again: such a row is parked, to be tried soon.
 */
void outcome_pass(struct batch *batch, const struct retry_options *options);

#endif
