#include "base/background.h"
#include "test.h"

#include <sched.h>

TEST(a_thread_is_set_back_and_then_as_before)
{
    int policy = background_enter();

    assert_int_equal(sched_getscheduler(0), SCHED_BATCH);
    background_leave(policy);
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
}

TEST(a_thread_that_was_set_back_before_stays_so)
{
    int first = background_enter();
    int second = background_enter();

    background_leave(second);
    assert_int_equal(sched_getscheduler(0), SCHED_BATCH);
    background_leave(first);
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
}
