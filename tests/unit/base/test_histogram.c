#include "base/histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct histogram_scale scale = {{1, 10, 100}, 3};

static void a_bucket_holds_values_up_to_its_bound(void **state)
{
    struct histogram histogram = {.scale = &scale};
    struct histogram_sum sum = {0};

    (void)state;
    histogram_count(&histogram, 0);
    histogram_count(&histogram, 1);
    histogram_count(&histogram, 2);
    histogram_count(&histogram, 10);
    histogram_count(&histogram, 100);
    histogram_count(&histogram, 101);
    histogram_add(&sum, &histogram);
    assert_int_equal(sum.counts[0], 2);
    assert_int_equal(sum.counts[1], 2);
    assert_int_equal(sum.counts[2], 1);
    assert_int_equal(sum.counts[3], 1);
    assert_int_equal(sum.sum, 214);
}

static void a_negative_value_counts_as_zero(void **state)
{
    struct histogram histogram = {.scale = &scale};
    struct histogram_sum sum = {0};

    (void)state;
    histogram_count(&histogram, -5);
    histogram_add(&sum, &histogram);
    assert_int_equal(sum.counts[0], 1);
    assert_int_equal(sum.sum, 0);
}

static void the_histograms_of_several_threads_add_up(void **state)
{
    struct histogram histograms[2] = {{.scale = &scale}, {.scale = &scale}};
    struct histogram_sum sum = {0};

    (void)state;
    histogram_count(&histograms[0], 5);
    histogram_count(&histograms[1], 7);
    histogram_add(&sum, &histograms[0]);
    histogram_add(&sum, &histograms[1]);
    assert_int_equal(sum.counts[1], 2);
    assert_int_equal(sum.sum, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bucket_holds_values_up_to_its_bound),
        cmocka_unit_test(a_negative_value_counts_as_zero),
        cmocka_unit_test(the_histograms_of_several_threads_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
