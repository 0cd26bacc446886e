#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

/* Counts of values below fixed bounds. One thread writes a histogram, without locks; any thread may
 * read it meanwhile. */

#define HISTOGRAM_BOUNDS_MAX 20

struct histogram_scale {
    int64_t bounds[HISTOGRAM_BOUNDS_MAX]; /* ascending; a bucket holds values up to its bound */
    int count;
};

struct histogram {
    const struct histogram_scale *scale;
    _Atomic uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1]; /* by bucket; the last: above all bounds */
    _Atomic uint64_t sum;
};

/* What several histograms of one scale have counted together. */
struct histogram_sum {
    const struct histogram_scale *scale; /* NULL: nothing has been added */
    uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1];
    uint64_t sum;
};

/* A negative value counts as 0. */
void histogram_count(struct histogram *histogram, int64_t value);
void histogram_add(struct histogram_sum *sum, const struct histogram *histogram);

#endif
