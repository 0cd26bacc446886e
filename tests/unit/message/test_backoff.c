#include "message/outcome.h"
#include "unit/seed.h"

#include <stdlib.h>

TEST(jitter_takes_up_to_half)
{
    assert_int_equal(backoff_ms(1000, 300000, 1, 0), 500);
    assert_int_equal(backoff_ms(1000, 300000, 1, UINT32_MAX), 1000);
    assert_in_range(backoff_ms(1000, 300000, 1, UINT32_MAX / 2), 749, 751);
    assert_in_range(backoff_ms(1000, 300000, 1, UINT32_MAX / 4), 624, 626);
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
