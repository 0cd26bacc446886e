#ifndef OUTBOX_SLICES_SOURCE_STATE_H
#define OUTBOX_SLICES_SOURCE_STATE_H

#include "outbox/slices/horizon.h"
#include "pg/wal_flush.h"
#include "source/source.h"

/* What source.h promises, for the files of this room and of outbox/. */

struct source {
    struct horizon *horizon; /* the lower bounds of unsent rows */
    struct wal_flush *flush; /* where lanes wait for the session that flushes the WAL */
};

#endif
