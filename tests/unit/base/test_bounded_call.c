#include "base/bounded_call.h"

#include "base/clock.h"
#include "test.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define PATIENCE_MS 10000

/* Work that returns when a byte can be read from `gate`. */
struct job {
    int gate[2];
    atomic_int returned;
    atomic_int dropped;
};

static void work(void *argument)
{
    struct job *job = argument;
    char byte;

    (void)!read(job->gate[0], &byte, 1);
    atomic_fetch_add(&job->returned, 1);
}

static void drop(void *argument)
{
    atomic_fetch_add(&((struct job *)argument)->dropped, 1);
}

static int open_job(void **state)
{
    static struct job job;

    job = (struct job){0};
    *state = &job;
    return pipe(job.gate);
}

static int close_job(void **state)
{
    struct job *job = *state;

    (void)close(job->gate[0]);
    (void)close(job->gate[1]);
    return 0;
}

FIXTURE(open_job, close_job)

static void open_gate(const struct job *job)
{
    assert_int_equal(write(job->gate[1], "x", 1), 1);
}

static void await_return(struct bounded_call **late)
{
    int64_t deadline_ms = clock_now_ms() + PATIENCE_MS;

    while (bounded_call_is_running(late)) {
        assert_true(clock_left_ms(deadline_ms) > 0);
        (void)poll(NULL, 0, 1);
    }
}

TEST(a_call_that_returns_in_time_leaves_its_argument_to_the_caller)
{
    struct job *job = *state;
    struct bounded_call *late = NULL;

    open_gate(job);
    assert_int_equal(bounded_call_run(&late, work, drop, job, clock_now_ms() + PATIENCE_MS),
                     BOUNDED_DONE);
    assert_int_equal(job->returned, 1);
    assert_int_equal(job->dropped, 0);
    assert_null(late);
}

TEST(a_call_that_hangs_is_given_up_at_its_deadline)
{
    struct job *job = *state;
    struct bounded_call *late = NULL;

    assert_int_equal(bounded_call_run(&late, work, drop, job, clock_now_ms() + 1), BOUNDED_LATE);
    assert_true(bounded_call_is_running(&late));
    assert_true(bounded_call_any_timed_out());
    assert_int_equal(job->dropped, 0);
    open_gate(job);
    await_return(&late);
    assert_int_equal(job->returned, 1);
    assert_int_equal(job->dropped, 1);
    assert_null(late);
}

static void *hurry_soon(void *unused)
{
    (void)poll(NULL, 0, 50);
    bounded_call_hurry(true);
    return unused;
}

TEST(in_a_hurry_a_call_that_hangs_is_given_up_long_before_its_deadline)
{
    struct job *job = *state;
    struct bounded_call *late = NULL;
    int64_t began_ms = clock_now_ms();
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, hurry_soon, NULL), 0);
    for (int i = 0; i < 2; i++) { /* the second one begins in the hurry */
        assert_int_equal(bounded_call_run(&late, work, drop, job, began_ms + PATIENCE_MS),
                         BOUNDED_LATE);
        open_gate(job);
        await_return(&late);
    }
    assert_in_range(clock_now_ms() - began_ms, 1000, PATIENCE_MS / 2);
    assert_int_equal(pthread_join(thread, NULL), 0);
    open_gate(job);
    assert_int_equal(bounded_call_run(&late, work, drop, job, clock_now_ms() + PATIENCE_MS),
                     BOUNDED_DONE);
    bounded_call_hurry(false);
    assert_int_equal(bounded_call_run(&late, work, drop, job, clock_now_ms() + 800), BOUNDED_LATE);
    assert_true(clock_now_ms() - began_ms >= 1800);
    open_gate(job);
    await_return(&late);
}

TEST(no_second_call_is_made_beside_one_that_was_given_up)
{
    struct job *job = *state;
    struct bounded_call *late = NULL;
    int64_t deadline_ms = clock_now_ms() + PATIENCE_MS;

    assert_int_equal(bounded_call_run(&late, work, drop, job, clock_now_ms()), BOUNDED_LATE);
    assert_int_equal(bounded_call_run(&late, work, drop, job, deadline_ms), BOUNDED_BUSY);
    open_gate(job);
    await_return(&late);
    open_gate(job);
    assert_int_equal(bounded_call_run(&late, work, drop, job, deadline_ms), BOUNDED_DONE);
    assert_int_equal(job->returned, 2);
    assert_int_equal(job->dropped, 1);
}

TEST(an_owner_may_go_before_the_call_returns)
{
    struct job *job = *state;
    struct bounded_call *late = NULL;
    int64_t deadline_ms = clock_now_ms() + PATIENCE_MS;

    assert_int_equal(bounded_call_run(&late, work, drop, job, clock_now_ms()), BOUNDED_LATE);
    bounded_call_forget(&late);
    assert_null(late);
    open_gate(job);
    while (atomic_load(&job->dropped) == 0) {
        assert_true(clock_left_ms(deadline_ms) > 0);
        (void)poll(NULL, 0, 1);
    }
}
