#ifndef MESSAGE_OUTCOME_H
#define MESSAGE_OUTCOME_H

#include "message/batch.h"

struct retry_options {
    int max_attempts; /* a message is dead after as many tries */
    int64_t backoff_ms;
    int64_t backoff_max_ms;
};

/* Turns each message's verdict and attempts into its outcome; counts the attempt where it counts. A
 * message that is held by an earlier one of its key goes behind it, or stays if that stays.
 * `random` seeds the jitter. */
void outcome_decide(struct batch *batch, const struct retry_options *options, uint32_t random);

#endif
