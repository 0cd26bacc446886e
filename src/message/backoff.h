#ifndef MESSAGE_BACKOFF_H
#define MESSAGE_BACKOFF_H

#include <stdint.h>

/*
 * The delay before try number `attempt` + 1 (attempt >= 1): first_ms doubled at each further
 * attempt, capped at max_ms, then jittered down by up to half. `random` is any 32 random bits.
 * Never less than 1 ms.
 */
int64_t backoff_ms(int64_t first_ms, int64_t max_ms, int attempt, uint32_t random);

#endif
