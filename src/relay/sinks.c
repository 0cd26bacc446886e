#include "relay/sinks.h"

#include "base/clock.h"
#include "base/log.h"
#include "message/backoff.h"

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

static uint64_t all_sinks(const struct lane_sinks *sinks)
{
    return bit(sinks->options->sink_count) - 1;
}

bool sinks_is_away(const struct lane_sinks *sinks, int sink)
{
    return (sinks->away & bit(sink)) != 0;
}

static bool others_work(const struct lane_sinks *sinks, int sink)
{
    return (sinks->away | bit(sink)) != all_sinks(sinks);
}

/* When no sink is left the lane breaks, and lane_run() tells it. */
void sinks_lose(struct lane_sinks *sinks, int sink, const struct error *error)
{
    struct sink_state *state = &sinks->states[sink];

    lane_report_away(sinks->report, sink, error);
    if (state->failures == 0)
        state->away_since_ms = clock_now_ms();
    if (!sinks_is_away(sinks, sink) && others_work(sinks, sink) &&
        clock_left_ms(state->quiet_ms) == 0) {
        state->quiet_ms = clock_now_ms() + QUIET_MS;
        log_event(LOG_WARN,
                  LOG_FIELDS(.lane = sinks->lane, .sink = sinks->options->sinks[sink].name,
                             .error = error->text, .hint = error->hint),
                  "the sink is away: its rows wait, those of other sinks go on");
    }
    sinks->away |= bit(sink);
    sinks->random = sinks->random * 1664525U + 1013904223U;
    state->probe_ms =
        clock_now_ms() + backoff_ms(RETRY_FIRST_MS, RETRY_MAX_MS, ++state->failures, sinks->random);
}

void sinks_trust(struct lane_sinks *sinks, int sink)
{
    struct sink_state *state = &sinks->states[sink];

    if (state->failures == 0)
        return;
    state->failures = 0;
    if (sinks->options->sink_count > 1)
        log_event(LOG_INFO,
                  LOG_FIELDS(.lane = sinks->lane, .sink = sinks->options->sinks[sink].name),
                  "the sink works again after %lld ms",
                  (long long)(clock_now_ms() - state->away_since_ms));
}

static int connect_timeout_ms(const struct lane_sinks *sinks, int sink)
{
    int failures = sinks->states[sink].failures;

    if (failures == 0 || !others_work(sinks, sink))
        return BROKER_CONNECT_TIMEOUT_MS;
    return failures % PROBES_QUICK == 0 ? PROBE_PATIENCE_SLOW_MS : PROBE_PATIENCE_MS;
}

/* With every sink away lane_run() keeps the pace. */
static void ready(struct lane_sinks *sinks, int sink, struct error *error)
{
    struct error problem;

    if (sinks_is_away(sinks, sink) && others_work(sinks, sink) &&
        clock_left_ms(sinks->states[sink].probe_ms) > 0)
        return;
    broker_set_connect_timeout(sinks->brokers[sink], connect_timeout_ms(sinks, sink));
    if (broker_ready(sinks->brokers[sink], &problem) == 0) {
        sinks->away &= ~bit(sink);
        lane_report_up(sinks->report, sink);
        atomic_store(&sinks->report->peers[sink].recognise_ms,
                     broker_recognise_ms(sinks->brokers[sink]));
        return;
    }
    sinks_lose(sinks, sink, &problem);
    *error = problem;
}

int sinks_ready(struct lane_sinks *sinks, struct error *error)
{
    for (int i = 0; i < sinks->options->sink_count; i++)
        if ((sinks->paused & bit(i)) == 0)
            ready(sinks, i, error);
    return sinks->away == all_sinks(sinks) && !sinks_are_all_paused(sinks) ? -1 : 0;
}

void sinks_pause(struct lane_sinks *sinks, uint64_t paused)
{
    for (int i = 0; i < sinks->options->sink_count; i++)
        if ((sinks->paused & ~paused & bit(i)) != 0)
            sinks->states[i].probe_ms = 0;
    sinks->paused = paused;
    sinks->away |= paused;
}

bool sinks_are_all_paused(const struct lane_sinks *sinks)
{
    return sinks->paused == all_sinks(sinks);
}
