#ifndef MESSAGE_OUTCOME_H
#define MESSAGE_OUTCOME_H

#include "message/batch.h"

struct retry_options {
    int max_attempts; /* a message is dead after this many attempts */
    int64_t backoff_ms;
    int64_t backoff_max_ms;
};

/* Decides each message's outcome from its verdict and its attempts, and counts the attempt when the
 * verdict says so. A message held back by an earlier one of its key gets OUTCOME_BEHIND, or stays
 * unsent when the earlier one does. `random` seeds the jitter. */
void outcome_decide(struct batch *batch, const struct retry_options *options, uint32_t random);

#endif
