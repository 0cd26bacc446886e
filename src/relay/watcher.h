#ifndef RELAY_WATCHER_H
#define RELAY_WATCHER_H

#include "outbox/slices/watch.h"
#include "relay/memory.h"
#include "relay/report.h"
#include "wake/stop.h"
#include "wake/wake.h"

/* What the watcher shares with the other threads. */
struct watcher_shared {
    const struct outbox_options *options;
    struct horizon *horizon;
    struct wal_flush *flush;
    struct wake *wake;     /* NULL: no lane waits for inserts */
    struct report *report; /* the process's report; NULL: none */
    struct memory *memory; /* what it writes into the control table; NULL: nothing */
    const struct stop *stop;
};

/*
 * Runs until a stop is requested. On a connection of its own, the watcher maintains the horizon,
 * flushes the WAL for the lanes, shows in its session's name which sinks are away, and wakes idle
 * lanes when an insert notifies. It makes inserts notify while all lanes are idle and hardly ever
 * otherwise. Notifications only speed things up: without them a row is delivered too, but later.
 */
void watcher_run(const struct watcher_shared *shared);

#endif
