#ifndef RELAY_SINKS_H
#define RELAY_SINKS_H

#include "broker/broker.h"
#include "relay/options.h"
#include "relay/report.h"

/*
 * Which sinks a lane can publish to. A sink that is away is probed with a back-off. Meanwhile none
 * of its rows is claimed, and the rows of other sinks are sent.
 */

struct sink_state {
    int failures;        /* since the last acknowledged message */
    int64_t probe_at_ms; /* when the sink is probed next */
};

/* A server that is away is tried again after RETRY_FIRST_MS, doubled each time up to RETRY_MAX_MS.
 * Including the probe, the lane works again within 5 s after the server is back. */
#define RETRY_FIRST_MS 100
#define RETRY_MAX_MS 4000

struct lane_sinks {
    const struct relay_options *options;
    struct lane_report *report; /* the lane's report */
    struct broker *brokers[SINKS_MAX];
    struct sink_state states[SINKS_MAX];
    uint64_t away;        /* a bit for each sink that is away or paused */
    uint64_t paused;      /* a bit for each sink that an operator has paused */
    uint64_t passed_over; /* those that were away when the current claim was sent, which may have
                             passed over earlier rows of them */
    uint32_t random;
};

/* Connects the sinks whose probe is due. 0: at least one sink can be published to, or all are
 * paused. -1: none can, and *error is that of the last one. */
int sinks_ready(struct lane_sinks *sinks, struct error *error);

/* Sets which sinks are paused. A sink that is no longer paused is probed at the next
 * sinks_ready. */
void sinks_pause(struct lane_sinks *sinks, uint64_t paused);
bool sinks_are_all_paused(const struct lane_sinks *sinks);

/* Notes which sinks are away at the moment at which a claim is sent. */
void sinks_note_claim(struct lane_sinks *sinks);

/* Whether rows of the current claim may be sent to the sink: it is not away or paused, and was not
 * when the claim was sent. */
bool sinks_can_use(const struct lane_sinks *sinks, int sink);

/* Marks the sink as away after a failure of its own, or as working after an acknowledgement. */
void sinks_mark_away(struct lane_sinks *sinks, int sink, const struct error *error);
void sinks_mark_working(struct lane_sinks *sinks, int sink);

/* Makes the messages of sinks that cannot be used wait: for `resume`, or for their destination. */
void sinks_hold(const struct lane_sinks *sinks, struct batch *batch);

#endif
