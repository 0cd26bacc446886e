/* Lanes are threads that only wait and count how often they look for rows. */
#include "wake/wake.h"

#include "base/clock.h"
#include "test.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define LANES 3
#define HOUR_MS 3600000
#define REST_MS_MIN 2
#define DEADLINE_MS 20000

struct idler {
    bool partial; /* it leaves rows */
    pthread_t thread;
    struct fixture *fixture;
    atomic_int looks;
};

struct fixture {
    struct wake *wake;
    struct stop stop;
    int64_t rest_ms;
    int started;
    struct idler idlers[LANES];
    atomic_int rows;                /* to be taken by whoever looks */
    bool endless;                   /* each look finds some */
    int64_t pace_ms;                /* then */
    _Atomic(struct idler *) latest; /* who has looked */
    atomic_int repeats;             /* looks of one that had looked before anybody else did */
    atomic_int to_hold;             /* how many of those that look next are held up, */
    atomic_bool holds;              /* as long as this */
};

static void wait_for(struct fixture *fixture, const struct wait *wait)
{
    wake_wait(fixture->wake, &fixture->stop, wait);
}

static void be_held_up(struct fixture *fixture)
{
    if (atomic_fetch_sub(&fixture->to_hold, 1) <= 0)
        return;
    while (atomic_load(&fixture->holds))
        (void)poll(NULL, 0, 1);
}

static void *idle(void *argument)
{
    struct idler *idler = argument;
    struct fixture *fixture = idler->fixture;
    int64_t pace_ms = 0;

    while (!stop_requested(&fixture->stop)) {
        wait_for(fixture, &(struct wait){fixture->rest_ms, pace_ms, !idler->partial});
        (void)atomic_fetch_add(&idler->looks, 1);
        if (atomic_exchange(&fixture->latest, idler) == idler)
            (void)atomic_fetch_add(&fixture->repeats, 1);
        be_held_up(fixture);
        pace_ms = atomic_exchange(&fixture->rows, 0) > 0 || fixture->endless ? fixture->pace_ms : 0;
    }
    return NULL;
}

static struct fixture *begin(int lanes, int64_t poll_ms, int64_t rest_ms)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);

    assert_non_null(fixture);
    fixture->wake = wake_open(lanes, poll_ms);
    assert_non_null(fixture->wake);
    assert_int_equal(stop_init(&fixture->stop), 0);
    fixture->rest_ms = rest_ms;
    fixture->pace_ms = REST_MS_MIN;
    return fixture;
}

static void start(struct fixture *fixture, int count)
{
    for (int i = 0; i < count; i++, fixture->started++) {
        struct idler *idler = &fixture->idlers[fixture->started];

        idler->fixture = fixture;
        assert_int_equal(pthread_create(&idler->thread, NULL, idle, idler), 0);
    }
}

static void end(struct fixture *fixture)
{
    stop_request(&fixture->stop);
    wake_stop(fixture->wake);
    for (int i = 0; i < fixture->started; i++)
        assert_int_equal(pthread_join(fixture->idlers[i].thread, NULL), 0);
    wake_close(fixture->wake);
    stop_free(&fixture->stop);
    free(fixture);
}

/* A look at the shared state every millisecond, until the deadline. */
static void pause_before(int64_t deadline_ms)
{
    assert_true(clock_now_ms() < deadline_ms);
    (void)poll(NULL, 0, 1);
}

static int looks(struct fixture *fixture)
{
    int sum = 0;

    for (int i = 0; i < fixture->started; i++)
        sum += atomic_load(&fixture->idlers[i].looks);
    return sum;
}

static void await_looks(struct fixture *fixture, int count)
{
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

    while (looks(fixture) < count)
        pause_before(deadline_ms);
}

static void await_quiet(struct fixture *fixture)
{
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

    while (!wake_is_quiet(fixture->wake))
        pause_before(deadline_ms);
}

/* Arms, and waits until the look that this causes is over. */
static void arm(struct fixture *fixture)
{
    int before;

    await_quiet(fixture);
    before = looks(fixture);
    wake_arm(fixture->wake);
    await_looks(fixture, before + 1);
    await_quiet(fixture);
}

TEST(a_notification_ends_a_wait_of_an_hour)
{
    struct fixture *fixture = begin(LANES, HOUR_MS, HOUR_MS);
    int before;

    start(fixture, LANES);
    for (int i = 0; i < 20; i++) {
        arm(fixture);
        before = looks(fixture);
        wake_notify(fixture->wake);
        await_looks(fixture, before + 1);
    }
    end(fixture);
}

TEST(after_a_full_batch_every_waiting_lane_looks_for_rows)
{
    struct fixture *fixture = begin(LANES + 1, HOUR_MS, HOUR_MS);
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

    start(fixture, LANES);
    for (int i = 0; i < LANES; i++) {
        int before = atomic_load(&fixture->idlers[i].looks);

        while (atomic_load(&fixture->idlers[i].looks) == before) {
            wake_others(fixture->wake);
            pause_before(deadline_ms);
        }
    }
    end(fixture);
}

TEST(a_lane_that_is_disarmed_polls_again)
{
    struct fixture *fixture = begin(LANES, HOUR_MS, HOUR_MS);
    int before;

    start(fixture, LANES);
    for (int i = 0; i < 3; i++) {
        arm(fixture);
        before = looks(fixture);
        wake_disarm(fixture->wake);
        await_looks(fixture, before + 3); /* with a poll interval of an hour */
    }
    end(fixture);
}

TEST(lanes_are_quiet_when_none_is_working)
{
    struct fixture *fixture = begin(LANES, HOUR_MS, HOUR_MS);

    start(fixture, LANES - 1);
    assert_false(wake_is_quiet(fixture->wake));
    start(fixture, 1);
    await_quiet(fixture);
    end(fixture);
}

TEST(lanes_that_find_rows_are_not_quiet)
{
    struct fixture *fixture = begin(1, HOUR_MS, HOUR_MS);

    fixture->endless = true;
    start(fixture, 1);
    while (looks(fixture) < 20)
        assert_false(looks(fixture) > 0 && wake_is_quiet(fixture->wake));
    end(fixture);
}

/* Each look that finds nothing doubles the time to the next. */
TEST(after_work_a_lane_looks_within_milliseconds)
{
    struct fixture *fixture = begin(LANES, HOUR_MS, HOUR_MS);

    fixture->endless = true;
    start(fixture, LANES);
    await_looks(fixture, 50);
    end(fixture);
}

TEST(a_lane_that_rests_after_work_looks_once_for_each_notification)
{
    struct fixture *fixture = begin(1, HOUR_MS, HOUR_MS);

    fixture->endless = true;
    fixture->pace_ms = HOUR_MS;
    start(fixture, 1);
    await_looks(fixture, 1); /* at its start it hurries */
    for (int i = 0; i < 20; i++) {
        wake_notify(fixture->wake);
        await_looks(fixture, i + 2);
    }
    assert_in_range(looks(fixture), 21, 22); /* at its start it may look once more */
    end(fixture);
}

TEST(a_lane_that_ends_its_work_later_delays_no_other_lane)
{
    struct fixture *fixture = begin(2, HOUR_MS, HOUR_MS);

    fixture->endless = true;
    fixture->pace_ms = 4000; /* this test is never late by so much */
    start(fixture, 1);
    for (int i = 0; i < 3; i++) {
        int before = looks(fixture);

        await_looks(fixture, before + 1);
        wait_for(fixture, &(struct wait){.pace_ms = HOUR_MS, .whole = true});
    }
    await_looks(fixture, looks(fixture) + 1);
    end(fixture);
}

TEST(the_lane_that_looked_last_looks_again)
{
    enum { LOOKS = 200 };
    struct fixture *fixture = begin(LANES, HOUR_MS, HOUR_MS);

    fixture->endless = true;
    start(fixture, LANES);
    await_looks(fixture, LOOKS);
    assert_true(atomic_load(&fixture->repeats) > LOOKS / 4); /* in turns: next to none */
    end(fixture);
}

/* Its second look finds nothing: the next one is due in an hour. */
static void let_sleep_for_an_hour(struct fixture *fixture)
{
    fixture->pace_ms = HOUR_MS;
    atomic_store(&fixture->rows, 1);
    start(fixture, 1);
    await_looks(fixture, 1);
    wake_notify(fixture->wake);
    await_looks(fixture, 2);
    await_quiet(fixture);
}

TEST(a_lane_that_sleeps_for_an_hour_looks_when_one_that_worked_is_held_up)
{
    struct fixture *fixture = begin(1, HOUR_MS, HOUR_MS);

    let_sleep_for_an_hour(fixture);
    wait_for(fixture, &(struct wait){.pace_ms = REST_MS_MIN, .whole = true});
    /* and it does not come back */
    await_looks(fixture, 3);
    end(fixture);
}

TEST(the_lane_that_began_to_wait_last_takes_the_notifications)
{
    enum { CALLS = 20 };
    struct fixture *fixture = begin(LANES, HOUR_MS, HOUR_MS);
    int before;

    start(fixture, LANES);
    arm(fixture);
    before = atomic_load(&fixture->repeats);
    for (int i = 0; i < CALLS; i++) {
        int seen = looks(fixture);

        wake_notify(fixture->wake);
        await_looks(fixture, seen + 1);
        arm(fixture);
    }
    /* Of two looks a call; when all are told, 12 to 24 of them. */
    assert_true(atomic_load(&fixture->repeats) - before >= 3 * CALLS / 2);
    end(fixture);
}

/* Both sleep for an hour when the call comes, and who looks first is held up. Returns the looks
 * before it. */
static int call_and_hold_up(struct fixture *fixture)
{
    int before;

    arm(fixture);
    atomic_store(&fixture->holds, true);
    atomic_store(&fixture->to_hold, 1);
    before = looks(fixture);
    wake_notify(fixture->wake);
    return before;
}

TEST(while_the_notified_lane_is_held_up_the_next_notification_wakes_another)
{
    struct fixture *fixture = begin(2, HOUR_MS, HOUR_MS);
    int before;

    start(fixture, 2);
    before = call_and_hold_up(fixture);
    await_looks(fixture, before + 1);
    wake_notify(fixture->wake);
    await_looks(fixture, before + 2);
    atomic_store(&fixture->holds, false);
    end(fixture);
}

TEST(while_a_lane_that_left_rows_waits_a_notification_wakes_the_others_too)
{
    struct fixture *fixture = begin(2, HOUR_MS, HOUR_MS);
    int before;

    fixture->idlers[0].partial = true;
    fixture->idlers[1].partial = true;
    start(fixture, 2);
    before = call_and_hold_up(fixture);
    await_looks(fixture, before + 2);
    atomic_store(&fixture->holds, false);
    end(fixture);
}

TEST(without_notifications_a_lane_polls_at_its_interval)
{
    struct fixture *fixture = begin(LANES, 2, HOUR_MS);

    start(fixture, LANES);
    await_looks(fixture, 20);
    end(fixture);
}

TEST(a_lane_looks_by_itself_when_it_has_rested)
{
    struct fixture *fixture = begin(LANES, HOUR_MS, 2);

    start(fixture, LANES);
    for (int i = 0; i < LANES; i++) {
        int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

        while (atomic_load(&fixture->idlers[i].looks) < 5)
            pause_before(deadline_ms);
    }
    end(fixture);
}

TEST(a_stop_ends_every_wait)
{
    struct fixture *fixture = begin(LANES, HOUR_MS, HOUR_MS);

    start(fixture, LANES);
    arm(fixture);
    end(fixture);
}

TEST(every_row_that_is_notified_of_is_taken)
{
    struct fixture *fixture = begin(LANES, HOUR_MS, HOUR_MS);

    start(fixture, LANES);
    for (int i = 0; i < 20000; i++) {
        int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

        wake_arm(fixture->wake);
        (void)atomic_fetch_add(&fixture->rows, 1);
        wake_notify(fixture->wake);
        while (i % 100 == 99 && atomic_load(&fixture->rows) > 0)
            pause_before(deadline_ms);
    }
    end(fixture);
}
