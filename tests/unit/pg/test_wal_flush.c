/* Lanes as threads that wait for a flush, and the test as the watcher that serves them. */
#include "pg/wal_flush.h"

#include "base/clock.h"
#include "test.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LANES 8
#define DEADLINE_MS 20000

static const struct server here = {.system = "7", .timeline = 1};
static const struct server promoted = {.system = "7", .timeline = 2};
static const struct server other = {.system = "8", .timeline = 1};

struct lane {
    pthread_t thread;
    int status;
    struct error error;
};

static struct wal_flush *flush;
static struct lane lanes[LANES];

static int set_up(void **state)
{
    (void)state;
    memset(lanes, 0, sizeof lanes);
    flush = wal_flush_open();
    return flush != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    wal_flush_close(flush);
    return 0;
}

FIXTURE(set_up, tear_down)

static void *wait_here(void *argument)
{
    struct lane *lane = argument;

    lane->status = wal_flush_wait(flush, &here, &lane->error);
    return NULL;
}

/* Waits are numbered; this returns when so many have begun. */
static void begin_waits(int first, int count)
{
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

    for (int i = first; i < first + count; i++)
        assert_int_equal(pthread_create(&lanes[i].thread, NULL, wait_here, &lanes[i]), 0);
    while (wal_flush_wanted(flush) < (uint64_t)(first + count)) {
        assert_true(clock_now_ms() < deadline_ms);
        (void)poll(NULL, 0, 1);
    }
}

static void end_waits(int first, int count, int status)
{
    for (int i = first; i < first + count; i++) {
        assert_int_equal(pthread_join(lanes[i].thread, NULL), 0);
        assert_int_equal(lanes[i].status, status);
    }
}

static bool is_told(void)
{
    struct pollfd told = {.fd = wal_flush_fd(flush), .events = POLLIN};
    uint64_t count;

    return poll(&told, 1, 0) == 1 && read(told.fd, &count, sizeof count) == sizeof count;
}

static struct error lost(void)
{
    struct error error;

    (void)error_set(&error, ERROR_TRANSIENT, ERROR_DATABASE, "the session is lost");
    return error;
}

TEST(one_flush_serves_all_lanes_that_wait)
{
    int64_t began_ms = clock_now_ms();

    begin_waits(0, LANES);
    assert_true(is_told());
    wal_flush_done(flush, wal_flush_wanted(flush), &here, NULL);
    end_waits(0, LANES, 0);
    assert_true(clock_now_ms() - began_ms < WAL_FLUSH_MS_MAX); /* they were notified */
    assert_int_equal(wal_flush_wanted(flush), 0);
    assert_false(is_told());
}

/* The lane's commit may come after what that flush has written. */
TEST(a_wait_that_begins_during_a_flush_needs_the_next)
{
    uint64_t number;

    begin_waits(0, 1);
    number = wal_flush_wanted(flush);
    begin_waits(1, 1);
    assert_true(is_told());
    wal_flush_done(flush, number, &here, NULL);
    end_waits(0, 1, 0);
    assert_int_equal(wal_flush_wanted(flush), number + 1);
    wal_flush_done(flush, number + 1, &here, NULL);
    end_waits(1, 1, 0);
}

TEST(a_flush_that_fails_fails_those_before_it_and_not_those_after)
{
    struct error error = lost();
    uint64_t number;

    begin_waits(0, 2);
    number = wal_flush_wanted(flush);
    begin_waits(2, 2);
    wal_flush_done(flush, number, &here, &error);
    end_waits(0, 2, -1);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(lanes[i].error.text, "the session is lost");
        assert_int_equal(lanes[i].error.kind, ERROR_TRANSIENT);
    }
    assert_int_equal(wal_flush_wanted(flush), number + 2);
    wal_flush_done(flush, number + 2, &here, NULL);
    end_waits(2, 2, 0);
}

/* An old primary that still answers has flushed nothing of what this lane saw. */
TEST(a_flush_on_another_server_ends_no_wait)
{
    const struct server *const others[] = {&other, &promoted};

    for (int i = 0; i < 2; i++) {
        begin_waits(i, 1);
        wal_flush_done(flush, wal_flush_wanted(flush), others[i], NULL);
        end_waits(i, 1, -1);
        assert_non_null(strstr(lanes[i].error.text, "reached another server"));
        assert_int_equal(lanes[i].error.kind, ERROR_TRANSIENT);
        assert_int_equal(lanes[i].error.origin, ERROR_DATABASE);
    }
    begin_waits(2, 1);
    wal_flush_done(flush, wal_flush_wanted(flush), &here, NULL);
    end_waits(2, 1, 0);
}

TEST(a_lane_waits_no_longer_than_a_claim_can_spare)
{
    int64_t began_ms = clock_now_ms();

    begin_waits(0, 2);
    end_waits(0, 2, -1);
    assert_in_range(clock_now_ms() - began_ms, WAL_FLUSH_MS_MAX, WAL_FLUSH_MS_MAX + 5000);
    assert_non_null(strstr(lanes[0].error.text, "was not flushed within"));
    assert_int_equal(lanes[0].error.kind, ERROR_TRANSIENT);
}

static atomic_int running;

static void *wait_often(void *argument)
{
    struct lane *lane = argument;

    for (int i = 0; i < 500 && lane->status == 0; i++)
        lane->status = wal_flush_wait(flush, &here, &lane->error);
    (void)atomic_fetch_sub(&running, 1);
    return NULL;
}

/* Whether there was something to serve. */
static bool serve(void)
{
    uint64_t number = is_told() ? wal_flush_wanted(flush) : 0;

    if (number > 0)
        wal_flush_done(flush, number, &here, NULL);
    return number > 0;
}

TEST(no_wait_is_lost)
{
    struct pollfd told = {.fd = wal_flush_fd(flush), .events = POLLIN};
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;
    int served = 0;

    atomic_store(&running, LANES);
    for (int i = 0; i < LANES; i++)
        assert_int_equal(pthread_create(&lanes[i].thread, NULL, wait_often, &lanes[i]), 0);
    while (atomic_load(&running) > 0) {
        assert_true(clock_now_ms() < deadline_ms);
        (void)poll(&told, 1, 10);
        served += serve();
    }
    end_waits(0, LANES, 0);
    assert_in_range(served, 500, LANES * 500);
}
