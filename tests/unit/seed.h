#ifndef UNIT_SEED_H
#define UNIT_SEED_H

#include "test.h"

#include <stdlib.h>
#include <time.h>

/* Seeds rand() with TEST_SEED of the environment, or with a seed of its own. It is printed, so that
 * a test that failed can be repeated. */
static inline unsigned seed_random(void)
{
    const char *given = getenv("TEST_SEED");
    unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);

    print_message("TEST_SEED=%u\n", seed);
    srand(seed);
    return seed;
}

#endif
