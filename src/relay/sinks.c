#include "relay/sinks.h"

#include "base/clock.h"
#include "message/outcome.h"
#include "source/pauses.h"

#include <stdio.h>
#include <string.h>

/* The rows of other sinks wait during a probe, so it is short. A server that refuses the connection
 * does so at once. A server that is merely slow to connect gets a longer probe from time to time.
 */
#define PROBE_TIMEOUT_MS 250
#define PROBE_TIMEOUT_SLOW_MS 1000
#define PROBES_QUICK 4

static uint64_t bit(int sink)
{
    return UINT64_C(1) << sink;
}

static uint64_t all_sinks(const struct lane_sinks *sinks)
{
    return bit(sinks->options->sink_count) - 1;
}

void sinks_note_claim(struct lane_sinks *sinks)
{
    sinks->passed_over = sinks->away;
}

bool sinks_can_use(const struct lane_sinks *sinks, int sink)
{
    return ((sinks->away | sinks->passed_over) & bit(sink)) == 0;
}

static bool others_work(const struct lane_sinks *sinks, int sink)
{
    return (sinks->away | bit(sink)) != all_sinks(sinks);
}

void sinks_mark_away(struct lane_sinks *sinks, int sink, const struct error *error)
{
    struct sink_state *state = &sinks->states[sink];

    lane_report_away(sinks->report, sink, error);
    sinks->away |= bit(sink);
    state->probe_at_ms =
        clock_now_ms() +
        backoff_ms(RETRY_FIRST_MS, RETRY_MAX_MS, ++state->failures, backoff_random(&sinks->random));
}

void sinks_mark_working(struct lane_sinks *sinks, int sink)
{
    sinks->states[sink].failures = 0;
}

static int connect_timeout_ms(const struct lane_sinks *sinks, int sink)
{
    int failures = sinks->states[sink].failures;

    if (failures == 0 || !others_work(sinks, sink))
        return BROKER_CONNECT_TIMEOUT_MS;
    return failures % PROBES_QUICK == 0 ? PROBE_TIMEOUT_SLOW_MS : PROBE_TIMEOUT_MS;
}

/* Connects a sink unless its back-off is running. When all sinks are away, lane_run() does the
 * backing off. */
static void ready(struct lane_sinks *sinks, int sink, struct error *error)
{
    struct error problem;

    if ((sinks->away & bit(sink)) != 0 && others_work(sinks, sink) &&
        clock_left_ms(sinks->states[sink].probe_at_ms) > 0)
        return;
    sinks->brokers[sink]->connect_timeout_ms = connect_timeout_ms(sinks, sink);
    if (broker_ready(sinks->brokers[sink], &problem) == 0) {
        sinks->away &= ~bit(sink);
        lane_report_up(sinks->report, sink);
        atomic_store(&sinks->report->peers[sink].recognise_ms, sinks->brokers[sink]->recognise_ms);
        atomic_store(&sinks->report->peers[sink].server, sinks->brokers[sink]->server);
        atomic_store(&sinks->report->peers[sink].key_order, sinks->brokers[sink]->key_order);
        atomic_store(&sinks->report->peers[sink].keeps_nothing,
                     sinks->brokers[sink]->keeps_nothing);
        return;
    }
    sinks_mark_away(sinks, sink, &problem);
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
    for (int i = 0; i < sinks->options->sink_count; i++) {
        if ((sinks->paused & ~paused & bit(i)) != 0)
            sinks->states[i].probe_at_ms = 0;
        if ((paused & bit(i)) != 0)
            lane_report_paused(sinks->report, i);
    }
    sinks->paused = paused;
    sinks->away |= paused;
}

bool sinks_are_all_paused(const struct lane_sinks *sinks)
{
    return sinks->paused == all_sinks(sinks);
}

void sinks_hold(const struct lane_sinks *sinks, struct batch *batch)
{
    for (int i = 0; i < batch->count; i++) {
        struct message *message = &batch->messages[i];
        char line[128];

        if (message->verdict != VERDICT_PENDING || message->sink < 0 ||
            sinks_can_use(sinks, message->sink))
            continue;
        if ((sinks->paused & bit(message->sink)) == 0) {
            batch_refuse(batch, message, VERDICT_WAIT, "sink %s is away",
                         sinks->options->sinks[message->sink].name);
            continue;
        }
        batch_refuse(batch, message, VERDICT_PAUSED, "paused: sink %s",
                     sinks->options->sinks[message->sink].name);
        (void)snprintf(line, sizeof line, PAUSED_PREFIX "sink %s",
                       sinks->options->sinks[message->sink].name);
        message->waits_for = batch_copy(batch, line, strlen(line));
    }
}
