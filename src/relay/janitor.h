#ifndef RELAY_JANITOR_H
#define RELAY_JANITOR_H

#include "source/options.h"
#include "wake/stop.h"

#include <stdatomic.h>

/* Runs until a stop is requested. Every minute or more often, on a connection of its own, it purges
 * marked rows older than *retention_ms, which may change in small batches, makes partitions ahead,
 * and gives a new probe to rows that wait for a destination which no row probes any more. */
void janitor_run(const struct outbox_options *options, const _Atomic int64_t *retention_ms,
                 const struct stop *stop);

#endif
