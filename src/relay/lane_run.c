/*
 * The loop around a lane's steps: it waits when there is nothing to do, backs off after a failure
 * and logs it once, and ends when a drain is complete.
 */
#include "relay/lane.h"

#include "base/background.h"
#include "base/clock.h"
#include "base/log_limit.h"
#include "message/outcome.h"

#define RETRY_PERMANENT_MAX_MS 30000
#define LONG_MS 60000 /* a lane that fails for so long waits RETRY_MAX_MS at least */
/* An empty claim so long after a failure would have met it again; after that of a lock, a slice is
 * left alone meanwhile. */
#define QUIET_MS 3000
#define QUIET_LOCKED_MS 11000
#define SCHEMA_MS 5000
#define DRAIN_LOOK_MS 20
#define BACKLOG_BATCHES 8
#define IDLE_MS_MAX                                                                                \
    30000 /* of a lane while others poll on its behalf; it then checks its servers */

struct run_state {
    int failures;         /* failed steps since one has shown that the next need not wait */
    uint64_t connections; /* of the lane, when the last step failed */
    bool worked;          /* at least one step has succeeded */
    bool adopted;         /* a drain has made rows due that nothing else would */
    bool asked;        /* since the last wait the database has been asked for rows of the outbox */
    int64_t schema_ms; /* since when each step fails because of the schema; 0: none does */
    int64_t pace_ms;   /* wait after the last step with rows; 0: no rows since the last wait */
    int full_batches;  /* full batches since the last wait, up to BACKLOG_BATCHES */
    int policy;        /* scheduling policy before the backlog switched the thread to SCHED_BATCH */
};

static struct log_limit limit = {.lines = "failures of lanes"};

/* The main thread logs what a lane reports of the database and the sinks. */
static void log_failure(const struct lane *lane)
{
    const struct error *error = &lane->error;

    if (error->origin == ERROR_DATABASE || error->origin == ERROR_BROKER)
        log_event(LOG_DEBUG,
                  LOG_FIELDS(.lane = lane->number, .error = error->text, .hint = error->hint),
                  "the lane waits");
    else
        log_limit_line(&limit, LOG_WARN, clock_now_ms(), "the lane waits: %s", error->text);
}

/* Whether the step has done what it is for: rows have left, or the database has none. An empty
 * claim proves nothing about rows that another lane may just hold. */
static bool made_progress(struct lane *lane, const struct run_state *run_state,
                          enum lane_result result)
{
    const struct batch *batch = &lane->batch;
    int64_t quiet_ms = lane->error.cause == ERROR_LOCKED ? QUIET_LOCKED_MS : QUIET_MS;

    if (batch->park_failure != NULL)
        return false;
    if (batch->count > 0)
        return !lane->settle_failed && batch_count(batch, OUTCOME_UNSENT) < batch->count;
    return result == LANE_IDLE && run_state->asked &&
           trouble_ends_when_idle(&lane->report.trouble, quiet_ms);
}

/* A lane that has kept its connection need not wait longer and longer: only its next rows would. */
static void note_success(struct lane *lane, struct run_state *run_state, enum lane_result result)
{
    bool made;

    run_state->asked = run_state->asked || lane->batch.is_asked;
    made = made_progress(lane, run_state, result);

    if (made) {
        lane->settle_failed = false; /* this lane has settled its rows, or another one has */
        trouble_end(&lane->report.trouble);
        lane_report_up(&lane->report, REPORT_DATABASE);
    }
    if (made || (result == LANE_IDLE && !lane->settle_failed && run_state->asked &&
                 outbox_connections(lane->outbox) == run_state->connections))
        run_state->failures = 0;
}

/* `state`: of the lane when the step failed. */
static void note_failure(struct lane *lane, struct run_state *run_state, enum lane_state state)
{
    run_state->failures++;
    run_state->connections = outbox_connections(lane->outbox);
    trouble_note(&lane->report.trouble, &lane->error, state == LANE_IS_CONNECTING);
    log_failure(lane);
}

static void wait_after_failure(struct lane *lane, struct run_state *run_state)
{
    int64_t max_ms = lane->error.kind == ERROR_TRANSIENT ? RETRY_MAX_MS : RETRY_PERMANENT_MAX_MS;
    int64_t wait_ms =
        backoff_ms(RETRY_FIRST_MS, max_ms, run_state->failures, backoff_random(&lane->random));

    if (wait_ms < RETRY_MAX_MS && trouble_for_ms(&lane->report.trouble, clock_now_ms()) >= LONG_MS)
        wait_ms = RETRY_MAX_MS;
    lane_report_enter(&lane->report, LANE_IS_WAITING);
    (void)stop_wait(lane->stop, wait_ms);
}

/* The table, one of its columns or its schema is gone, or the number of slices is another one. */
static bool is_schema_error(const struct error *error)
{
    return error->is_schema || error->cause == ERROR_GONE;
}

/* Before the first success a permanent error of the database ends the relay at once. Later a
 * privilege, a password or an index may come back while the relay waits; a schema that stays
 * another one for SCHEMA_MS, longer than a migration leaves it broken, does not. */
static bool is_final(const struct lane *lane, struct run_state *run_state)
{
    const struct error *error = &lane->error;
    int64_t now_ms = clock_now_ms();

    if (error->kind == ERROR_FATAL)
        return true;
    if (!run_state->worked && (lane->worked == NULL || !atomic_load(lane->worked)))
        return error->kind == ERROR_PERMANENT && error->origin != ERROR_BROKER;
    if (!is_schema_error(error))
        run_state->schema_ms = 0;
    else if (run_state->schema_ms == 0)
        run_state->schema_ms = now_ms;
    return run_state->schema_ms != 0 && now_ms - run_state->schema_ms >= SCHEMA_MS;
}

/* With nothing left to send, brokers that are away do not matter. */
static bool may_be_drained(const struct lane *lane, enum lane_result result)
{
    return result == LANE_IDLE || (result == LANE_BROKEN && lane->error.origin == ERROR_BROKER);
}

/* A drain is complete when no unsent row is left, not even one that another relay has locked, and
 * no parked row is due. Parked rows that are due are claimed without delay. */
static int check_drained(struct lane *lane, struct run_state *run_state, enum lane_end *end)
{
    int64_t adopted = 0;
    bool due = true;
    int parked = 0;

    if (outbox_remaining(lane->outbox, &lane->declined, &due, &parked, &lane->error) < 0)
        return -1;
    if (!due && !run_state->adopted) {
        run_state->adopted = true; /* it is not tried again where it takes too long */
        if (outbox_adopt(lane->outbox, &adopted, &lane->error) < 0)
            return -1;
    }
    due = due || adopted > 0;
    turn_more_parked(&lane->turns, 0);
    *end = due ? LANE_STOPPED : LANE_DRAINED;
    return 0;
}

static void end_backlog(struct run_state *run_state)
{
    if (run_state->full_batches == BACKLOG_BATCHES)
        background_leave(run_state->policy);
    run_state->full_batches = 0;
}

static void wait_idle(struct lane *lane, struct run_state *run_state, bool drain)
{
    int64_t poll_ms = lane->options->poll_interval_ms;
    bool is_troubled = trouble_for_ms(&lane->report.trouble, clock_now_ms()) > 0;
    /* A lane whose sink is away must keep probing it and does not claim all rows, so no other lane
     * can poll on its behalf. One that has failed finds out soon whether it still would. */
    struct wait wait = {
        .poll_anyway_ms =
            lane->sinks.away != 0 || is_troubled || poll_ms > IDLE_MS_MAX ? poll_ms : IDLE_MS_MAX,
        .pace_ms = run_state->pace_ms,
        .whole = lane->sinks.away == 0,
    };

    end_backlog(run_state);
    lane_report_enter(&lane->report, LANE_IS_IDLE);
    if (drain)
        (void)stop_wait(lane->stop, DRAIN_LOOK_MS);
    else if (lane->wake == NULL)
        (void)stop_wait(lane->stop, poll_ms);
    else
        wake_wait(lane->wake, lane->stop, &wait);
    run_state->pace_ms = 0;
    run_state->asked = false;
}

/* A lane that took all rows also waits for a moment, so that rows inserted meanwhile share one
 * transaction. Every transaction saved leaves the server more time for inserts. */
static bool should_wait(const struct lane *lane, enum lane_result result, bool drain)
{
    if (result == LANE_IDLE)
        return true;
    return result == LANE_MORE && lane->batch.count > 0 && !lane->batch.has_more && !drain &&
           lane->wake != NULL;
}

enum lane_end lane_run(struct lane *lane, bool drain)
{
    struct run_state run_state = {0};
    enum lane_end end = LANE_STOPPED;

    while (!stop_requested(lane->stop) && end == LANE_STOPPED) {
        enum lane_result result;

        lane_take_options(lane);
        result = lane_step(lane);

        /* During a backlog the lane wakes for each part of a claim and each acknowledgement, only
         * to wait again; in SCHED_BATCH it does so without preempting the servers it waits for. A
         * single full batch is no backlog: a lane that has nearly caught up should not be slowed
         * down. */
        if (result == LANE_MORE && lane->batch.count == lane->batch.capacity &&
            run_state.full_batches < BACKLOG_BATCHES && ++run_state.full_batches == BACKLOG_BATCHES)
            run_state.policy = background_enter();
        if (drain && may_be_drained(lane, result) && check_drained(lane, &run_state, &end) < 0)
            result = LANE_BROKEN;
        if (result == LANE_BROKEN && end == LANE_DRAINED)
            break;
        if (result == LANE_BROKEN) {
            end_backlog(&run_state);
            if (is_final(lane, &run_state))
                return LANE_FAILED;
            note_failure(lane, &run_state, (enum lane_state)atomic_load(&lane->report.state));
            wait_after_failure(lane, &run_state);
            continue;
        }
        if (!run_state.worked && lane->worked != NULL)
            atomic_store(lane->worked, true);
        run_state.worked = true;
        run_state.schema_ms = 0;
        note_success(lane, &run_state, result);
        if (lane->batch.park_failure != NULL)
            trouble_note(&lane->report.trouble, &lane->error, false);
        if (lane->batch.park_failure != NULL)
            log_limit_line(&limit, LOG_ERROR, clock_now_ms(), "%s", lane->error.text);
        if (result == LANE_MORE && lane->batch.count > 0) {
            run_state.pace_ms = wake_pace_ms(lane->batch.count);
            if (lane->wake != NULL && lane->batch.has_more)
                wake_others(lane->wake);
        }
        if (end == LANE_STOPPED && should_wait(lane, result, drain))
            wait_idle(lane, &run_state, drain);
    }
    end_backlog(&run_state);
    outbox_abandon(lane->outbox);
    return end;
}
