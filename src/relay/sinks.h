#ifndef RELAY_SINKS_H
#define RELAY_SINKS_H

#include "relay/lane.h"

/*
 * Which sinks a lane can publish to. One that is away is probed with a back-off; meanwhile no row
 * is claimed for it, and the rows of the others go on.
 */

/* Connects what is due for it. 0 when at least one sink takes messages; -1: lane->error says why
 * the last one does not. */
int lane_ready_sinks(struct lane *lane);

bool lane_sink_is_away(const struct lane *lane, int sink);

/* After a publish that failed for the sink's own reason, and after one that succeeded. */
void lane_lose_sink(struct lane *lane, int sink, const struct error *error);
void lane_trust_sink(struct lane *lane, int sink);

#endif
