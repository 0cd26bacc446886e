#ifndef RELAY_JANITOR_H
#define RELAY_JANITOR_H

#include "catalog/options.h"
#include "wake/stop.h"

/* Until a stop is requested, each minute or more often, on a connection of its own: purges marked
 * rows that are older than the retention, in small batches, and sees to rows that wait for a
 * destination which nothing probes any more. */
void janitor_run(const struct outbox_options *options, const struct stop *stop);

#endif
