#ifndef UNIT_BATCH_H
#define UNIT_BATCH_H

#include "message/batch.h"
#include "test.h"

/* The fixture of tests that fill a batch: each has an empty one. */

#define BATCH_CAPACITY 10000

static struct batch batch;

static inline int open_batch(void **state)
{
    (void)state;
    return batch_init(&batch, BATCH_CAPACITY);
}

static inline int close_batch(void **state)
{
    (void)state;
    batch_free(&batch);
    return 0;
}

#endif
