#ifndef RELAY_SINKS_H
#define RELAY_SINKS_H

#include "broker/broker.h"
#include "relay/options.h"
#include "relay/report.h"

/*
 * Which sinks a lane can publish to. One that is away is probed with a back-off; meanwhile no row
 * is claimed for it, and the rows of the others go on.
 */

struct sink_state {
    int failures; /* in a row, until a message has been acknowledged */
    int64_t away_since_ms;
    int64_t probe_ms; /* when it is tried again */
    int64_t quiet_ms; /* until then one that comes and goes is not told again */
};

/* What is away is tried again after RETRY_FIRST_MS, doubled up to RETRY_MAX_MS: with the probe
 * behind it, 5 s after a server is back. */
#define RETRY_FIRST_MS 100
#define RETRY_MAX_MS 4000

struct lane_sinks {
    int lane; /* its number, for the log */
    const struct relay_options *options;
    struct lane_report *report; /* of the lane */
    struct broker *brokers[SINKS_MAX];
    struct sink_state states[SINKS_MAX];
    uint64_t away;   /* a bit for each sink that takes nothing now, be it because it is paused */
    uint64_t paused; /* a bit for each sink that an operator has paused */
    uint32_t random;
};

/* Connects what is due for it. 0 when at least one sink takes messages, or all are paused; -1:
 * *error says why the last one does not. */
int sinks_ready(struct lane_sinks *sinks, struct error *error);

/* These sinks are paused from now on, and no others. One that is no longer is probed next. */
void sinks_pause(struct lane_sinks *sinks, uint64_t paused);
bool sinks_are_all_paused(const struct lane_sinks *sinks);

bool sinks_is_away(const struct lane_sinks *sinks, int sink);

/* After a publish that failed for the sink's own reason, and after one that succeeded. */
void sinks_lose(struct lane_sinks *sinks, int sink, const struct error *error);
void sinks_trust(struct lane_sinks *sinks, int sink);

#endif
