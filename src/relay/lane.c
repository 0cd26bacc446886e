#include "relay/lane.h"

#include "base/clock.h"
#include "base/log.h"
#include "core/backoff.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PARKED_LOOK_MS 1000

static int publish(struct lane *lane);
static int ready_brokers(struct lane *lane);
static bool turn_to_parked(struct lane *lane);
static bool claim_ahead(const struct lane *lane);
static int64_t payload_max(const struct lane *lane);
static void count_outcomes(struct lane *lane);
static enum lane_result conclude(struct lane *lane);
static enum lane_result break_off(struct lane *lane);

enum lane_result lane_step(struct lane *lane)
{
    struct batch *batch = &lane->batch;
    bool parked = turn_to_parked(lane);
    int published;

    if (outbox_ready(lane->outbox, &lane->error) < 0 || ready_brokers(lane) < 0 ||
        outbox_claim(lane->outbox, batch, parked, payload_max(lane), &lane->error) < 0)
        return break_off(lane);
    lane->claimed_ahead = false;
    if (batch->count == 0)
        return parked ? LANE_MORE : LANE_IDLE; /* the outbox has its turn at once */

    route_batch(&lane->options->routes, batch);
    published = publish(lane);
    outcome_decide(batch, &lane->options->retry, ++lane->random);
    lane->claimed_ahead = published == 0 && claim_ahead(lane);
    lane->unsettled = outbox_settle(lane->outbox, batch, lane->claimed_ahead, &lane->error) < 0;
    if (lane->unsettled)
        return break_off(lane);
    count_outcomes(lane);
    return published == 0 ? conclude(lane) : break_off(lane);
}

/* Every sink's messages are under way before the first acknowledgement is waited for. A sink that
 * is away does not keep the others' acknowledgements from being settled. */
static int publish(struct lane *lane)
{
    int64_t deadline_ms = clock_now_ms() + lane->options->publish_timeout_ms;
    struct error error;
    int status = 0;

    for (int i = 0; i < lane->options->sink_count; i++)
        broker_send(lane->brokers[i], &lane->batch, i);
    for (int i = 0; i < lane->options->sink_count; i++) {
        if (broker_await(lane->brokers[i], &lane->batch, i, deadline_ms, &error) == 0)
            continue;
        lane->error = error;
        status = -1;
    }
    return status;
}

static int ready_brokers(struct lane *lane)
{
    for (int i = 0; i < lane->options->sink_count; i++)
        if (broker_ready(lane->brokers[i], &lane->error) < 0)
            return -1;
    return 0;
}

/* Parked rows and the outbox take turns, so that neither holds up the other. */
static bool parked_is_due(const struct lane *lane)
{
    return !lane->parked_last && clock_now_ms() >= lane->parked_look_ms;
}

static bool turn_to_parked(struct lane *lane)
{
    bool parked = !lane->claimed_ahead && parked_is_due(lane);

    lane->parked_last = parked;
    if (parked)
        lane->parked_look_ms = clock_now_ms() + PARKED_LOOK_MS;
    return parked;
}

/* A claim ahead locks rows, so it is made only when the next step will certainly be taken. */
static bool claim_ahead(const struct lane *lane)
{
    return !parked_is_due(lane) && !stop_requested(lane->stop);
}

static int64_t payload_max(const struct lane *lane)
{
    int64_t largest = 0;

    for (int i = 0; i < lane->options->sink_count; i++) {
        int64_t bytes = broker_payload_max(lane->brokers[i]);

        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

static void log_dead(const struct lane *lane, const struct message *message)
{
    log_warn("lane %d: row %.*s is dead: %s", lane->number, (int)message->id.len, message->id.data,
             message->reason != NULL ? message->reason : "no reason given");
}

static int count_outcome(const struct batch *batch, enum outcome outcome)
{
    int count = 0;

    for (int i = 0; i < batch->count; i++)
        count += batch->messages[i].outcome == outcome;
    return count;
}

/* A row is counted when it is parked for the first time, not at each further try. */
static void count_outcomes(struct lane *lane)
{
    const struct batch *batch = &lane->batch;
    struct lane_counts *counts = &lane->counts;

    (void)atomic_fetch_add(&counts->sent, (uint64_t)count_outcome(batch, OUTCOME_SENT));
    if (batch->more && batch->parked)
        lane->parked_look_ms = 0; /* the rest has waited long enough too */
    if (batch->unparked != NULL)
        return;
    if (!batch->parked)
        (void)atomic_fetch_add(&counts->parked, (uint64_t)count_outcome(batch, OUTCOME_PARK));
    (void)atomic_fetch_add(&counts->dead, (uint64_t)count_outcome(batch, OUTCOME_DEAD));
    for (int i = 0; i < batch->count; i++)
        if (batch->messages[i].outcome == OUTCOME_DEAD)
            log_dead(lane, &batch->messages[i]);
}

/* Rows that cannot be parked come back with each claim. As long as others leave with them that is a
 * price; when they are alone, the lane rests as if there was nothing. */
static enum lane_result conclude(struct lane *lane)
{
    const struct batch *batch = &lane->batch;

    if (batch->unparked == NULL)
        return LANE_MORE;
    (void)error_set(&lane->error, ERROR_PERMANENT, ERROR_DATABASE,
                    "rows that can never be sent could not be parked: %s", batch->unparked);
    if (count_outcome(batch, OUTCOME_SENT) > 0)
        return LANE_MORE;
    (void)break_off(lane);
    return LANE_IDLE;
}

/* No transaction stays open while something is waited for. */
static enum lane_result break_off(struct lane *lane)
{
    outbox_abandon(lane->outbox);
    lane->claimed_ahead = false;
    return LANE_BROKEN;
}

/* "HOST:PID/LANE": what pg_stat_activity and `status` show. */
static void name_lane(char *out, size_t size, int number)
{
    char host[24] = "";

    (void)gethostname(host, sizeof host - 1);
    host[strcspn(host, "/")] = '\0';
    (void)snprintf(out, size, "%s:%d/%d", host, (int)getpid(), number);
}

int lane_init(struct lane *lane, int number, const struct relay_options *options,
              const struct stop *stop, struct error *error)
{
    char name[48];

    *lane = (struct lane){.number = number, .options = options, .stop = stop};
    lane->random = (uint32_t)clock_now_ms() * 2654435761U + (uint32_t)number;
    name_lane(name, sizeof name, number);
    lane->outbox = outbox_open(&options->outbox, name);
    if (lane->outbox == NULL || batch_init(&lane->batch, options->outbox.batch) < 0)
        return error_no_memory(error);
    for (int i = 0; i < options->sink_count; i++) {
        lane->brokers[i] = broker_open(&options->sinks[i], error);
        if (lane->brokers[i] == NULL)
            return -1;
    }
    return 0;
}

void lane_close(struct lane *lane)
{
    batch_free(&lane->batch);
    outbox_close(lane->outbox);
    lane->outbox = NULL;
    for (int i = 0; i < SINKS_MAX; i++) {
        if (lane->brokers[i] != NULL)
            broker_close(lane->brokers[i]);
        lane->brokers[i] = NULL;
    }
}
