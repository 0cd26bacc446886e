#ifndef RELAY_WATCHER_H
#define RELAY_WATCHER_H

#include "relay/memory.h"
#include "relay/report.h"
#include "source/source.h"
#include "wake/stop.h"
#include "wake/wake.h"

/* What the watcher shares with the other threads. */
struct watcher_shared {
    const struct outbox_options *options;
    struct source *source;
    struct wake *wake;     /* NULL: no lane waits for inserts */
    struct report *report; /* the process's report; NULL: none */
    struct memory *memory; /* what it writes into the control table; NULL: nothing */
    const struct stop *stop;
};

/*
 * Runs until a stop is requested. On a connection of its own, the watcher maintains what the lanes
 * share (source.h), flushes for them, shows in its session's name which sinks are away, answers
 * `status`, and wakes idle lanes when there may be new rows.
 */
void watcher_run(const struct watcher_shared *shared);

#endif
