#include "base/clock.h"
#include "test.h"

#include <limits.h>

TEST(a_far_deadline_still_fits_poll)
{
    assert_int_equal(clock_left_ms(INT64_MAX), INT_MAX);
    assert_int_equal(clock_left_ms(clock_now_ms() + (int64_t)INT_MAX * 2), INT_MAX);
}
