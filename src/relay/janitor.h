#ifndef RELAY_JANITOR_H
#define RELAY_JANITOR_H

#include "outbox/options.h"
#include "relay/stop.h"

/* Purges marked rows that are older than the retention, in small batches on a connection of its
 * own, until a stop is requested. Returns at once when there is nothing to purge by the options. */
void janitor_run(const struct outbox_options *options, const struct stop *stop);

#endif
