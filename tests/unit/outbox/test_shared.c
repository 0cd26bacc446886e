#include "outbox/shared.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SLICES 4
#define NOW_MS 1000

static const struct server primary = {.system = "42", .timeline = 1};
static const struct server promoted = {.system = "42", .timeline = 2};
static const struct server other = {.system = "43", .timeline = 1};

static struct shared *shared;
static struct bounds bounds;

static int setup(void **state)
{
    (void)state;
    shared = shared_open(SLICES);
    if (shared == NULL)
        return -1;
    shared_join(shared, &primary);
    return bounds_init(&bounds, SLICES);
}

static int teardown(void **state)
{
    (void)state;
    bounds_free(&bounds);
    shared_close(shared);
    return 0;
}

static uint32_t learn(const struct server *server, int64_t now_ms)
{
    return shared_learn(shared, server, &bounds, now_ms);
}

static void what_a_lane_tells_another_learns(void **state)
{
    (void)state;
    shared_tell(shared, learn(&primary, NOW_MS), 1, 100);
    assert_true(bounds.slices[1].first == BOUNDS_UNKNOWN);
    (void)learn(&primary, NOW_MS);
    assert_int_equal(bounds.slices[1].first, 100);
    assert_true(bounds.slices[0].first == BOUNDS_UNKNOWN);
}

static void nobody_goes_back_to_what_is_told(void **state)
{
    uint32_t epoch = learn(&primary, NOW_MS);

    (void)state;
    shared_tell(shared, epoch, 1, 100);
    shared_tell(shared, epoch, 1, 90);
    shared_tell(shared, epoch, 2, BOUNDS_UNKNOWN);
    bounds.slices[3].first = 500;
    shared_tell(shared, epoch, 3, 400);
    (void)learn(&primary, NOW_MS);
    assert_int_equal(bounds.slices[1].first, 100);
    assert_true(bounds.slices[2].first == BOUNDS_UNKNOWN);
    assert_int_equal(bounds.slices[3].first, 500);
}

static void who_connects_learns_nothing_that_was_told_before(void **state)
{
    (void)state;
    shared_tell(shared, learn(&primary, NOW_MS), 1, 100);
    shared_join(shared, &primary);
    assert_int_not_equal(learn(&primary, NOW_MS), 0);
    assert_true(bounds.slices[1].first == BOUNDS_UNKNOWN);
}

static void nor_what_was_asked_for_before(void **state)
{
    uint32_t before = learn(&primary, NOW_MS);

    (void)state;
    shared_join(shared, &primary);
    shared_tell(shared, before, 1, 100);
    (void)learn(&primary, NOW_MS);
    assert_true(bounds.slices[1].first == BOUNDS_UNKNOWN);
}

static void lanes_of_two_servers_tell_each_other_nothing(void **state)
{
    (void)state;
    shared_join(shared, &promoted);
    assert_int_equal(learn(&primary, NOW_MS), 0);
    shared_tell(shared, learn(&primary, NOW_MS), 1, 100);
    shared_tell(shared, learn(&promoted, NOW_MS), 2, 200);
    assert_int_equal(learn(&primary, NOW_MS), 0);
    assert_int_equal(learn(&other, NOW_MS), 0);
    assert_true(bounds.slices[2].first == BOUNDS_UNKNOWN);
    (void)learn(&promoted, NOW_MS);
    assert_int_equal(bounds.slices[2].first, 200);
    assert_true(bounds.slices[1].first == BOUNDS_UNKNOWN);
}

static void before_anybody_has_connected_nothing_is_told(void **state)
{
    struct shared *unused = shared_open(0); /* order = "none" has no slices */

    (void)state;
    assert_non_null(unused);
    assert_int_equal(shared_learn(unused, &primary, &bounds, NOW_MS), 0);
    shared_close(unused);
}

static void a_told_bound_has_passed_what_is_below_it(void **state)
{
    (void)state;
    assert_false(shared_has_passed(shared, 1, INT64_MIN));
    shared_tell(shared, learn(&primary, NOW_MS), 1, 100);
    assert_true(shared_has_passed(shared, 1, 99));
    assert_false(shared_has_passed(shared, 1, 100));
    assert_false(shared_has_passed(shared, 2, 99));
}

static void after_a_bound_that_passed_a_row_nothing_is_told_for_a_minute(void **state)
{
    uint32_t before = learn(&primary, NOW_MS);

    (void)state;
    shared_tell(shared, before, 1, 100);
    shared_distrust(shared, NOW_MS);
    shared_tell(shared, before, 1, 100);
    assert_int_equal(learn(&primary, NOW_MS + 59999), 0);
    assert_int_not_equal(learn(&primary, NOW_MS + 60000), 0);
    assert_true(bounds.slices[1].first == BOUNDS_UNKNOWN);
}

static void *tell_each(void *unused)
{
    struct bounds own;

    (void)unused;
    if (bounds_init(&own, SLICES) < 0)
        return NULL;
    for (int64_t first = 1; first <= 1000; first++)
        shared_tell(shared, shared_learn(shared, &primary, &own, NOW_MS), (int)(first % SLICES),
                    first);
    bounds_free(&own);
    return NULL;
}

static void lanes_tell_and_learn_at_once(void **state)
{
    pthread_t lanes[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&lanes[i], NULL, tell_each, NULL), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(lanes[i], NULL), 0);
    (void)learn(&primary, NOW_MS);
    for (int i = 0; i < SLICES; i++)
        assert_int_equal(bounds.slices[i].first, i == 0 ? 1000 : 996 + i);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_a_lane_tells_another_learns),
        TEST(nobody_goes_back_to_what_is_told),
        TEST(who_connects_learns_nothing_that_was_told_before),
        TEST(nor_what_was_asked_for_before),
        TEST(lanes_of_two_servers_tell_each_other_nothing),
        TEST(before_anybody_has_connected_nothing_is_told),
        TEST(a_told_bound_has_passed_what_is_below_it),
        TEST(after_a_bound_that_passed_a_row_nothing_is_told_for_a_minute),
        TEST(lanes_tell_and_learn_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
