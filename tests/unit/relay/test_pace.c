#include "relay/pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_small_batch_that_takes_longer_than_it_can_is_followed_by_a_longer_rest(void **state)
{
    struct pace pace = {0};

    (void)state;
    assert_int_equal(pace_behind(&pace, 1, 0), PACE_FIRST_MS);
    assert_int_equal(pace_behind(&pace, 1, 1), PACE_FIRST_MS);
    assert_int_equal(pace_behind(&pace, 1, 2), 4);
    assert_int_equal(pace_behind(&pace, 89, 4), 12);
    assert_int_equal(pace_behind(&pace, 1, 10000), 25); /* it has an end */
}

static void a_large_batch_may_take_its_time(void **state)
{
    struct pace pace = {0};

    (void)state;
    assert_int_equal(pace_behind(&pace, 1, 1), PACE_FIRST_MS);
    assert_int_equal(pace_behind(&pace, 90, 6), PACE_FIRST_MS);
}

static void the_way_to_the_database_is_no_reason_to_rest(void **state)
{
    struct pace pace = {0};

    (void)state;
    for (int i = 0; i < 10; i++)
        assert_int_equal(pace_behind(&pace, 1, 20), PACE_FIRST_MS);
    assert_int_equal(pace_behind(&pace, 1, 23), 12);
}

static void what_was_quick_once_is_forgotten(void **state)
{
    struct pace pace = {0};

    (void)state;
    assert_int_equal(pace_behind(&pace, 1, 1), PACE_FIRST_MS);
    for (int i = 0; i < 10000; i++)
        assert_in_range(pace_behind(&pace, 1, 5), PACE_FIRST_MS, 16);
    assert_int_equal(pace_behind(&pace, 1, 5), PACE_FIRST_MS);
    assert_int_equal(pace_behind(&pace, 1, 1), PACE_FIRST_MS);
    assert_int_equal(pace_behind(&pace, 1, 5), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_batch_that_takes_longer_than_it_can_is_followed_by_a_longer_rest),
        cmocka_unit_test(a_large_batch_may_take_its_time),
        cmocka_unit_test(the_way_to_the_database_is_no_reason_to_rest),
        cmocka_unit_test(what_was_quick_once_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
