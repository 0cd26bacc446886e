/*
 * What a lane does around its steps: wait when there is nothing to do, back off when something is
 * broken, say so once, and know when it is done.
 */
#include "relay/lane.h"

#include "base/background.h"
#include "base/clock.h"
#include "base/log.h"
#include "message/backoff.h"

#include <string.h>

#define RETRY_PERMANENT_MAX_MS 30000
#define REPEAT_LOG_MS 60000
#define DRAIN_LOOK_MS 20
#define BACKLOG_BATCHES 8
#define REST_MS 30000 /* a lane on whose behalf others look notices then that a server is gone */

struct rhythm {
    int failures;     /* in a row */
    bool worked;      /* at least one step did not break */
    int64_t pace_ms;  /* behind the last step with rows since it waited last; 0: there was none */
    int full_batches; /* since it waited last; behind a backlog of them it runs in SCHED_BATCH, */
    int policy;       /* and ran in this before */
    int64_t broken_since_ms;
    int64_t logged_ms;
    char logged[sizeof((struct error *)0)->text];
};

static void log_failure(const struct lane *lane, struct rhythm *rhythm)
{
    int64_t now_ms = clock_now_ms();
    bool repeats = strcmp(rhythm->logged, lane->error.text) == 0;

    if (repeats && now_ms - rhythm->logged_ms < REPEAT_LOG_MS)
        return;
    log_event(LOG_ERROR,
              LOG_FIELDS(.lane = lane->number, .error = lane->error.text, .hint = lane->error.hint),
              "the lane cannot work");
    rhythm->logged_ms = now_ms;
    memcpy(rhythm->logged, lane->error.text, sizeof rhythm->logged);
}

static void note_success(const struct lane *lane, struct rhythm *rhythm)
{
    /* An idle look proves nothing while what was published cannot be settled. */
    if (rhythm->failures == 0 || lane->unsettled)
        return;
    log_event(LOG_INFO, LOG_FIELDS(.lane = lane->number), "working again after %lld ms",
              (long long)(clock_now_ms() - rhythm->broken_since_ms));
    rhythm->failures = 0;
    rhythm->logged[0] = '\0';
}

static void wait_after_failure(struct lane *lane, struct rhythm *rhythm)
{
    int64_t max_ms = lane->error.kind == ERROR_TRANSIENT ? RETRY_MAX_MS : RETRY_PERMANENT_MAX_MS;

    if (rhythm->failures++ == 0)
        rhythm->broken_since_ms = clock_now_ms();
    log_failure(lane, rhythm);
    lane_report_enter(&lane->report, LANE_IS_WAITING);
    lane->random = lane->random * 1664525U + 1013904223U;
    (void)stop_wait(lane->stop, backoff_ms(RETRY_FIRST_MS, max_ms, rhythm->failures, lane->random));
}

/* A missing table or a wrong password at the start is told at once; later it may come back. */
static bool is_hopeless(const struct lane *lane, const struct rhythm *rhythm)
{
    if (lane->error.kind == ERROR_FATAL)
        return true;
    return !rhythm->worked && lane->error.kind == ERROR_PERMANENT &&
           lane->error.origin != ERROR_BROKER;
}

/* Drained when no unsent row is left, not even one that another relay has locked, and no parked row
 * is due. A row that is due but parked is looked at without delay. */
static enum lane_result look_for_remaining(struct lane *lane, enum lane_end *end)
{
    bool due = true;
    int parked = 0;

    if (outbox_remaining(lane->outbox, &due, &parked, &lane->error) < 0)
        return LANE_BROKEN;
    lane->parked_look_ms = 0;
    *end = due ? LANE_STOPPED : LANE_DRAINED;
    return LANE_IDLE;
}

static void come_forward(struct rhythm *rhythm)
{
    if (rhythm->full_batches == BACKLOG_BATCHES)
        background_leave(rhythm->policy);
    rhythm->full_batches = 0;
}

static void wait_idle(struct lane *lane, struct rhythm *rhythm, bool drain)
{
    int64_t poll_ms = lane->options->poll_interval_ms;
    /* Another lane's look does not do for one that has to probe a sink, or that leaves its rows. */
    struct wait wait = {
        .rest_ms = lane->sinks.away != 0 || poll_ms > REST_MS ? poll_ms : REST_MS,
        .pace_ms = rhythm->pace_ms,
        .whole = lane->sinks.away == 0,
    };

    come_forward(rhythm);
    lane_report_enter(&lane->report, LANE_IS_IDLE);
    if (drain)
        (void)stop_wait(lane->stop, DRAIN_LOOK_MS);
    else if (lane->wake == NULL)
        (void)stop_wait(lane->stop, poll_ms);
    else
        wake_wait(lane->wake, lane->stop, &wait);
    rhythm->pace_ms = 0;
}

/* A lane that took all there was waits for a moment too: the rows that come meanwhile
 * cost one transaction instead of several, which is taken from those who insert them. */
static bool rests(const struct lane *lane, enum lane_result result, bool drain)
{
    if (result == LANE_IDLE)
        return true;
    return result == LANE_MORE && lane->batch.count > 0 && !lane->batch.has_more && !drain &&
           lane->wake != NULL;
}

enum lane_end lane_run(struct lane *lane, bool drain)
{
    struct rhythm rhythm = {0};
    enum lane_end end = LANE_STOPPED;

    while (!stop_requested(lane->stop) && end == LANE_STOPPED) {
        enum lane_result result = lane_step(lane);

        /* With a backlog a lane is woken for each piece of a claim and for each acknowledgement,
         * only to wait for the next: it leaves the processors to those it waits for. One full batch
         * is none: who is about to catch up is not to be late. */
        if (result == LANE_MORE && lane->batch.count == lane->batch.capacity &&
            rhythm.full_batches < BACKLOG_BATCHES && ++rhythm.full_batches == BACKLOG_BATCHES)
            rhythm.policy = background_enter();
        if (result == LANE_IDLE && drain)
            result = look_for_remaining(lane, &end);
        if (result == LANE_BROKEN) {
            come_forward(&rhythm);
            if (is_hopeless(lane, &rhythm))
                return LANE_FAILED;
            wait_after_failure(lane, &rhythm);
            continue;
        }
        rhythm.worked = true;
        if (result == LANE_IDLE || lane->batch.count > 0) /* no parked row proves little */
            note_success(lane, &rhythm);
        if (lane->batch.park_failure != NULL)
            log_failure(lane, &rhythm);
        if (result == LANE_MORE && lane->batch.count > 0) {
            rhythm.pace_ms = wake_rest_ms(lane->batch.count);
            if (lane->wake != NULL)
                wake_found(lane->wake, lane->batch.has_more);
        }
        if (end == LANE_STOPPED && rests(lane, result, drain))
            wait_idle(lane, &rhythm, drain);
    }
    come_forward(&rhythm);
    outbox_abandon(lane->outbox);
    return end;
}
