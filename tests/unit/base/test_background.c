#include "base/background.h"
#include "test.h"

#include <sched.h>

static void a_thread_is_set_back_and_then_as_before(void **state)
{
    int policy = background_enter();

    (void)state;
    assert_int_equal(sched_getscheduler(0), SCHED_BATCH);
    background_leave(policy);
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
}

static void a_thread_that_was_set_back_before_stays_so(void **state)
{
    int first = background_enter();
    int second = background_enter();

    (void)state;
    background_leave(second);
    assert_int_equal(sched_getscheduler(0), SCHED_BATCH);
    background_leave(first);
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_is_set_back_and_then_as_before),
        cmocka_unit_test(a_thread_that_was_set_back_before_stays_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
