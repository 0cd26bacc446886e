#include "base/clock.h"
#include "test.h"

#include <limits.h>

TEST(nothing_is_left_of_a_deadline_that_has_passed)
{
    int64_t now = clock_now_ms();

    assert_int_equal(clock_left_ms(now), 0);
    assert_int_equal(clock_left_ms(now - 1), 0);
    assert_int_equal(clock_left_ms(0), 0);
    assert_int_equal(clock_left_ms(-1), 0);
    assert_int_equal(clock_left_ms(INT64_MIN), 0);
}

TEST(what_is_left_of_a_deadline_shrinks_from_its_distance)
{
    int64_t deadline = clock_now_ms() + 3600000;
    int left = clock_left_ms(deadline);

    assert_in_range(left, 1, 3600000);
    assert_true(clock_left_ms(deadline) <= left);
}

TEST(a_far_deadline_still_fits_poll)
{
    assert_int_equal(clock_left_ms(INT64_MAX), INT_MAX);
    assert_int_equal(clock_left_ms(clock_now_ms() + (int64_t)INT_MAX * 2), INT_MAX);
}
