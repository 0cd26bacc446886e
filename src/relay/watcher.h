#ifndef RELAY_WATCHER_H
#define RELAY_WATCHER_H

#include "outbox/slices/watch.h"
#include "relay/report.h"
#include "wake/listener.h"
#include "wake/stop.h"
#include "wake/wake.h"

/* What the threads of a process share. */
struct watched {
    const struct outbox_options *options;
    struct horizon *horizon;
    struct wal_flush *flush;
    struct wake *wake;     /* NULL: nobody waits for inserts */
    struct report *report; /* of the process; NULL: nobody asks for it */
    const struct stop *stop;
};

/*
 * Until a stop is requested, on a connection of its own: keeps the horizon, flushes the WAL for the
 * lanes, shows in its session's name which sinks are away, and calls idle lanes when PostgreSQL
 * notifies of an insert. It sees to it that inserts notify while all lanes are idle and hardly ever
 * else (wake/listener.h); without the trigger, or behind a pooler, lanes poll.
 */
void watcher_run(const struct watched *watched);

#endif
