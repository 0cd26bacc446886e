#include "base/histogram.h"

/* Only one thread adds, so that it needs no locked instruction. */
static void add(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + value,
                          memory_order_relaxed);
}

void histogram_count(struct histogram *histogram, int64_t value)
{
    const struct histogram_scale *scale = histogram->scale;
    int bucket = scale->count;

    if (value < 0)
        value = 0;
    /* From the top: in a backlog, where speed counts, the rows are old. */
    while (bucket > 0 && value <= scale->bounds[bucket - 1])
        bucket--;
    add(&histogram->counts[bucket], 1);
    add(&histogram->sum, (uint64_t)value);
}

void histogram_add(struct histogram_sum *sum, const struct histogram *histogram)
{
    sum->scale = histogram->scale;
    for (int i = 0; i <= histogram->scale->count; i++)
        sum->counts[i] += atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
    sum->sum += atomic_load_explicit(&histogram->sum, memory_order_relaxed);
}
