#include "relay/report.h"
#include "test.h"

static const struct histogram_scale scale = {{1, 10, 100}, 3};

TEST(a_bucket_holds_values_up_to_its_bound)
{
    struct histogram histogram = {.scale = &scale};
    struct histogram_sum sum = {0};

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

TEST(a_negative_value_counts_as_zero)
{
    struct histogram histogram = {.scale = &scale};
    struct histogram_sum sum = {0};

    histogram_count(&histogram, -5);
    histogram_add(&sum, &histogram);
    assert_int_equal(sum.counts[0], 1);
    assert_int_equal(sum.sum, 0);
}

TEST(the_histograms_of_several_threads_add_up)
{
    struct histogram histograms[2] = {{.scale = &scale}, {.scale = &scale}};
    struct histogram_sum sum = {0};

    histogram_count(&histograms[0], 5);
    histogram_count(&histograms[1], 7);
    histogram_add(&sum, &histograms[0]);
    histogram_add(&sum, &histograms[1]);
    assert_int_equal(sum.counts[1], 2);
    assert_int_equal(sum.sum, 12);
}
