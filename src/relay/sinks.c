#include "relay/sinks.h"

#include "base/clock.h"
#include "base/log.h"
#include "message/backoff.h"

#define PROBE_FIRST_MS 100
#define PROBE_MAX_MS 4000

/* While the rows of other sinks wait for the probe: a server that refuses says so at once, one that
 * is only slow to connect gets its time now and then. */
#define PROBE_PATIENCE_MS 250
#define PROBE_PATIENCE_SLOW_MS 1000
#define PROBES_QUICK 4

#define QUIET_MS 60000

static uint64_t bit(int sink)
{
    return UINT64_C(1) << sink;
}

static uint64_t all_sinks(const struct lane *lane)
{
    return bit(lane->options->sink_count) - 1;
}

bool lane_sink_is_away(const struct lane *lane, int sink)
{
    return (lane->away & bit(sink)) != 0;
}

static bool others_work(const struct lane *lane, int sink)
{
    return (lane->away | bit(sink)) != all_sinks(lane);
}

/* When no sink is left the lane breaks, and lane_run() tells it. */
void lane_lose_sink(struct lane *lane, int sink, const struct error *error)
{
    struct sink_state *state = &lane->sinks[sink];

    if (state->failures == 0)
        state->away_since_ms = clock_now_ms();
    if (!lane_sink_is_away(lane, sink) && others_work(lane, sink) &&
        clock_left_ms(state->quiet_ms) == 0) {
        state->quiet_ms = clock_now_ms() + QUIET_MS;
        log_warn("lane %d: %s; its rows wait, those of other sinks go on%s%s", lane->number,
                 error->text, error->hint[0] != '\0' ? "; " : "", error->hint);
    }
    lane->error = *error;
    lane->away |= bit(sink);
    lane->random = lane->random * 1664525U + 1013904223U;
    state->probe_ms =
        clock_now_ms() + backoff_ms(PROBE_FIRST_MS, PROBE_MAX_MS, ++state->failures, lane->random);
}

void lane_trust_sink(struct lane *lane, int sink)
{
    struct sink_state *state = &lane->sinks[sink];

    if (state->failures == 0)
        return;
    state->failures = 0;
    if (lane->options->sink_count > 1)
        log_info("lane %d: [sink.%s] works again after %lld ms", lane->number,
                 lane->options->sinks[sink].name,
                 (long long)(clock_now_ms() - state->away_since_ms));
}

static int patience_ms(const struct lane *lane, int sink)
{
    int failures = lane->sinks[sink].failures;

    if (failures == 0 || !others_work(lane, sink))
        return BROKER_PATIENCE_MS;
    return failures % PROBES_QUICK == 0 ? PROBE_PATIENCE_SLOW_MS : PROBE_PATIENCE_MS;
}

/* With every sink away lane_run() keeps the pace. */
static void ready(struct lane *lane, int sink)
{
    struct error error;

    if (lane_sink_is_away(lane, sink) && others_work(lane, sink) &&
        clock_left_ms(lane->sinks[sink].probe_ms) > 0)
        return;
    broker_set_patience(lane->brokers[sink], patience_ms(lane, sink));
    if (broker_ready(lane->brokers[sink], &error) < 0)
        lane_lose_sink(lane, sink, &error);
    else
        lane->away &= ~bit(sink);
}

int lane_ready_sinks(struct lane *lane)
{
    for (int i = 0; i < lane->options->sink_count; i++)
        ready(lane, i);
    atomic_store(&lane->counts.away, lane->away);
    return lane->away == all_sinks(lane) ? -1 : 0;
}
