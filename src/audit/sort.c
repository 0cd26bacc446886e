/* Visits a bucket of any size in a given order: sorts it in runs that fit into memory, and merges
 * them. */
#include "audit/records.h"

#include <stdlib.h>
#include <string.h>

/* A part of a bucket, which begins with a record. */
struct window {
    struct spill_reader reader;
    char *bytes;
    size_t capacity; /* 2 * SPILL_PART_BYTES at least: a part follows what is left of a record */
    size_t at, len;
};

static size_t next_size(const struct window *window)
{
    return record_size(window->bytes + window->at, window->len - window->at);
}

/* Drops what was visited, and reads as much as there is room for. */
static int fill(struct window *window, struct error *error)
{
    size_t part = 1;

    window->len -= window->at;
    memmove(window->bytes, window->bytes + window->at, window->len);
    window->at = 0;
    while (part > 0 && window->capacity - window->len >= SPILL_PART_BYTES) {
        if (spill_next(&window->reader, window->bytes + window->len, &part, error) < 0)
            return -1;
        window->len += part;
    }
    return 0;
}

/* ---- runs ---- */

/* Sorts the records of the window into a bucket of `runs`. */
static int put_run(struct window *window, struct spill *runs, int run,
                   const struct visitor *visitor, struct error *error)
{
    struct records records = {window->bytes, NULL, 0};
    int status = records_sort(&records, window->len, visitor->compare, error);

    for (size_t i = 0; status == 0 && i < records.count; i++) {
        size_t size = record_size(records.list[i], SPILL_PART_BYTES);

        status = spill_put(runs, (uint64_t)run, records.list[i], size, error);
        window->at += size;
    }
    free(records.list);
    return status;
}

/* A run takes all but two parts of the room, so that SPILL_BUCKETS of them are enough. */
static int make_runs(struct spill *spill, int bucket, size_t memory, struct spill *runs,
                     const struct visitor *visitor, struct error *error)
{
    size_t least = spill_len(spill, bucket) / SPILL_BUCKETS + 1 + 2 * SPILL_PART_BYTES;
    struct window window = {.reader = spill_read(spill, bucket),
                            .capacity = memory > least ? memory : least};
    int status = 0;

    window.bytes = malloc(window.capacity);
    if (window.bytes == NULL)
        return error_no_memory(error);
    for (int run = 0; run < SPILL_BUCKETS && status == 0; run++) {
        status = fill(&window, error);
        if (status == 0)
            status = put_run(&window, runs, run, visitor, error);
    }
    free(window.bytes);
    return status;
}

/* ---- the merge ---- */

struct merge {
    const struct visitor *visitor;
    struct window windows[SPILL_BUCKETS];
    struct window *heap[SPILL_BUCKETS]; /* those that have a record; none is before heap[0] */
    int count;
};

static bool is_before(const struct merge *merge, int a, int b)
{
    const void *left = merge->heap[a]->bytes + merge->heap[a]->at;
    const void *right = merge->heap[b]->bytes + merge->heap[b]->at;

    return merge->visitor->compare(&left, &right) < 0;
}

static void move_down(struct merge *merge, int at)
{
    for (int child = 2 * at + 1; child < merge->count; child = 2 * at + 1) {
        struct window *window = merge->heap[at];

        if (child + 1 < merge->count && is_before(merge, child + 1, child))
            child++;
        if (!is_before(merge, child, at))
            return;
        merge->heap[at] = merge->heap[child];
        merge->heap[child] = window;
        at = child;
    }
}

static int begin_merge(struct merge *merge, struct spill *runs, char *bytes, struct error *error)
{
    for (int run = 0; run < SPILL_BUCKETS; run++) {
        struct window *window = &merge->windows[run];

        window->reader = spill_read(runs, run);
        window->capacity = 2 * SPILL_PART_BYTES;
        window->bytes = bytes + (size_t)run * window->capacity;
        if (fill(window, error) < 0)
            return -1;
        if (next_size(window) > 0)
            merge->heap[merge->count++] = window;
    }
    for (int at = merge->count - 1; at >= 0; at--)
        move_down(merge, at);
    return 0;
}

static int visit_runs(struct spill *runs, const struct visitor *visitor, struct error *error)
{
    struct merge merge = {.visitor = visitor};
    char *bytes = malloc(SPILL_BUCKETS * 2 * SPILL_PART_BYTES);
    int status = bytes != NULL ? begin_merge(&merge, runs, bytes, error) : error_no_memory(error);

    while (status == 0 && merge.count > 0) {
        struct window *first = merge.heap[0];

        visitor->visit(visitor->closure, first->bytes + first->at);
        first->at += next_size(first);
        if (next_size(first) == 0)
            status = fill(first, error);
        if (next_size(first) == 0)
            merge.heap[0] = merge.heap[--merge.count];
        move_down(&merge, 0);
    }
    free(bytes);
    return status;
}

/* ---- a bucket ---- */

static int visit_whole(struct spill *spill, int bucket, const struct visitor *visitor,
                       struct error *error)
{
    struct records records;
    int status = records_take(spill, bucket, visitor->compare, &records, error);

    for (size_t i = 0; status == 0 && i < records.count; i++)
        visitor->visit(visitor->closure, records.list[i]);
    records_free(&records);
    return status;
}

int records_visit(struct spill *spill, int bucket, size_t memory, const struct visitor *visitor,
                  struct error *error)
{
    struct spill *runs;
    int status;

    if (spill_len(spill, bucket) <= memory)
        return visit_whole(spill, bucket, visitor, error);
    if ((runs = spill_open(error)) == NULL)
        return -1;
    status = make_runs(spill, bucket, memory, runs, visitor, error);
    if (status == 0)
        status = visit_runs(runs, visitor, error);
    spill_close(runs);
    return status;
}
