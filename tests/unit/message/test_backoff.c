#include "message/outcome.h"
#include "unit/seed.h"

#include <limits.h>
#include <stdlib.h>

TEST(the_delay_doubles_at_each_further_attempt)
{
    for (int attempt = 1; attempt <= 9; attempt++)
        assert_int_equal(backoff_ms(1000, 300000, attempt, UINT32_MAX), 1000 << (attempt - 1));
}

TEST(the_delay_is_capped)
{
    static const int attempts[] = {10, 11, 12, 63, 64, 65, 1000, 1000000, INT_MAX};

    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++)
        assert_int_equal(backoff_ms(1000, 300000, attempts[i], UINT32_MAX), 300000);
}

TEST(jitter_takes_up_to_half)
{
    assert_int_equal(backoff_ms(1000, 300000, 1, 0), 500);
    assert_int_equal(backoff_ms(1000, 300000, 1, UINT32_MAX), 1000);
    assert_in_range(backoff_ms(1000, 300000, 1, UINT32_MAX / 2), 749, 751);
    assert_in_range(backoff_ms(1000, 300000, 1, UINT32_MAX / 4), 624, 626);
}

TEST(the_delay_is_never_less_than_a_millisecond)
{
    for (int attempt = 1; attempt < 5; attempt++) {
        assert_int_equal(backoff_ms(1, 1, attempt, 0), 1);
        assert_int_equal(backoff_ms(1, 1, attempt, UINT32_MAX), 1);
        assert_int_equal(backoff_ms(0, 0, attempt, 0), 1);
        assert_true(backoff_ms(1, 2, attempt, 0) >= 1);
    }
}

TEST(the_longest_delays_do_not_overflow)
{
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

TEST(every_delay_lies_between_half_and_the_whole)
{
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
