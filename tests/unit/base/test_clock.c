#include "base/clock.h"
#include "test.h"

#include <limits.h>

static void nothing_is_left_of_a_deadline_that_has_passed(void **state)
{
    int64_t now = clock_now_ms();

    (void)state;
    assert_int_equal(clock_left_ms(now), 0);
    assert_int_equal(clock_left_ms(now - 1), 0);
    assert_int_equal(clock_left_ms(0), 0);
    assert_int_equal(clock_left_ms(-1), 0);
    assert_int_equal(clock_left_ms(INT64_MIN), 0);
}

static void what_is_left_of_a_deadline_shrinks_from_its_distance(void **state)
{
    int64_t deadline = clock_now_ms() + 3600000;
    int left = clock_left_ms(deadline);

    (void)state;
    assert_in_range(left, 1, 3600000);
    assert_true(clock_left_ms(deadline) <= left);
}

static void a_far_deadline_still_fits_poll(void **state)
{
    (void)state;
    assert_int_equal(clock_left_ms(INT64_MAX), INT_MAX);
    assert_int_equal(clock_left_ms(clock_now_ms() + (int64_t)INT_MAX * 2), INT_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left_of_a_deadline_that_has_passed),
        cmocka_unit_test(what_is_left_of_a_deadline_shrinks_from_its_distance),
        cmocka_unit_test(a_far_deadline_still_fits_poll),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
