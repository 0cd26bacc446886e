#ifndef OUTBOX_SLICES_SOURCE_STATE_H
#define OUTBOX_SLICES_SOURCE_STATE_H

#include "outbox/slices/horizon.h"
#include "pg/wal_flush.h"
#include "source/source.h"

/* What source.h promises, for the rooms of both databases. */

struct source {
    const struct outbox_options *options;
    struct horizon *horizon; /* the lower bounds of unsent rows */
    struct wal_flush *flush; /* where lanes wait for the session that flushes the log */
};

/* NULL: no memory. The options outlive it. `slices` of the horizon. */
struct source *source_new(const struct outbox_options *options, int slices);

#endif
