#ifndef RELAY_WAKER_H
#define RELAY_WAKER_H

#include "outbox/options.h"
#include "relay/stop.h"
#include "relay/wake.h"

/* Until a stop is requested, on a connection of its own: calls the idle lanes when PostgreSQL
 * notifies of an insert, and sees to it that inserts notify while all lanes are idle and hardly
 * ever else (outbox/listener.h). Without the trigger, or behind a pooler, it does nothing. */
void waker_run(const struct outbox_options *options, struct wake *wake, const struct stop *stop);

#endif
