#include "message/outcome.h"
#include "unit/seed.h"

#include <limits.h>
#include <stdlib.h>

static void the_delay_doubles_at_each_further_attempt(void **state)
{
    (void)state;
    for (int attempt = 1; attempt <= 9; attempt++)
        assert_int_equal(backoff_ms(1000, 300000, attempt, UINT32_MAX), 1000 << (attempt - 1));
}

static void the_delay_is_capped(void **state)
{
    static const int attempts[] = {10, 11, 12, 63, 64, 65, 1000, 1000000, INT_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++)
        assert_int_equal(backoff_ms(1000, 300000, attempts[i], UINT32_MAX), 300000);
}

static void jitter_takes_up_to_half(void **state)
{
    (void)state;
    assert_int_equal(backoff_ms(1000, 300000, 1, 0), 500);
    assert_int_equal(backoff_ms(1000, 300000, 1, UINT32_MAX), 1000);
    assert_in_range(backoff_ms(1000, 300000, 1, UINT32_MAX / 2), 749, 751);
    assert_in_range(backoff_ms(1000, 300000, 1, UINT32_MAX / 4), 624, 626);
}

static void the_delay_is_never_less_than_a_millisecond(void **state)
{
    (void)state;
    for (int attempt = 1; attempt < 5; attempt++) {
        assert_int_equal(backoff_ms(1, 1, attempt, 0), 1);
        assert_int_equal(backoff_ms(1, 1, attempt, UINT32_MAX), 1);
        assert_int_equal(backoff_ms(0, 0, attempt, 0), 1);
        assert_true(backoff_ms(1, 2, attempt, 0) >= 1);
    }
}

static void the_longest_delays_do_not_overflow(void **state)
{
    (void)state;
    assert_int_equal(backoff_ms(INT64_MAX, INT64_MAX, 1, UINT32_MAX), INT64_MAX);
    assert_int_equal(backoff_ms(1, INT64_MAX, 1000, UINT32_MAX), INT64_MAX);
    assert_in_range(backoff_ms(INT64_MAX, INT64_MAX, 1, 0), INT64_MAX / 2, INT64_MAX / 2 + 1);
    assert_in_range(backoff_ms(INT64_C(1) << 40, INT64_MAX, 1, UINT32_MAX / 2),
                    (INT64_C(3) << 38) - 200, (INT64_C(3) << 38) + 200);
}

static int64_t random_up_to(int64_t most)
{
    return (int64_t)(((uint64_t)rand() << 31 | (uint64_t)rand()) % (uint64_t)most) + 1;
}

static void every_delay_lies_between_half_and_the_whole(void **state)
{
    (void)state;
    (void)seed_random();
    for (int i = 0; i < 100000; i++) {
        int64_t first = random_up_to(INT64_C(1) << (rand() % 62));
        int64_t max = random_up_to(INT64_C(1) << (rand() % 62));
        int attempt = 1 + rand() % 80;
        int64_t whole = first < max ? first : max;
        int64_t delay = backoff_ms(first, max, attempt, (uint32_t)random_up_to(UINT32_MAX));

        for (int doubled = 1; doubled < attempt && whole < max; doubled++)
            whole = whole > max - whole ? max : whole * 2;
        assert_true(delay >= 1);
        assert_true(delay >= whole - whole / 2);
        assert_true(delay <= whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_delay_doubles_at_each_further_attempt),
        cmocka_unit_test(the_delay_is_capped),
        cmocka_unit_test(jitter_takes_up_to_half),
        cmocka_unit_test(the_delay_is_never_less_than_a_millisecond),
        cmocka_unit_test(the_longest_delays_do_not_overflow),
        cmocka_unit_test(every_delay_lies_between_half_and_the_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
