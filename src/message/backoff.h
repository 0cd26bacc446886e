#ifndef MESSAGE_BACKOFF_H
#define MESSAGE_BACKOFF_H

#include <stdint.h>

/*
 * The delay after failed attempt number `attempt` (from 1): first_ms, doubled for each further
 * attempt, capped at max_ms, then reduced by a random share of up to half. `random` is any 32
 * random bits. The result is at least 1 ms.
 */
int64_t backoff_ms(int64_t first_ms, int64_t max_ms, int attempt, uint32_t random);

#endif
