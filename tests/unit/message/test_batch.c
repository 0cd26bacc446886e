#include "message/batch.h"
#include "unit/batch.h"
#include "unit/seed.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#define CAPACITY 4 /* small, so that it can be filled */

static int setup(void **state)
{
    (void)state;
    return batch_init(&batch, CAPACITY);
}

FIXTURE(setup, close_batch)

/* ---- messages ---- */

TEST(a_batch_holds_its_capacity_and_no_more)
{
    for (int i = 0; i < CAPACITY; i++) {
        assert_int_equal(batch.count, i);
        assert_ptr_equal(batch_add(&batch), &batch.messages[i]);
    }
    assert_null(batch_add(&batch));
    assert_int_equal(batch.count, CAPACITY);
}

/* ---- rows ---- */

/* ---- memory ---- */

#define BLOCKS 400

struct block {
    unsigned char *bytes;
    size_t size;
};

/* Mostly small, now and then larger than anything kept from cycle to cycle. */
static size_t random_size(void)
{
    return (size_t)rand() % (rand() % 50 == 0 ? 200000 : 2000);
}

TEST(allocated_bytes_are_aligned_and_nobody_elses)
{
    static struct block blocks[BLOCKS];

    (void)seed_random();
    for (int cycle = 0; cycle < 5; cycle++) {
        for (int i = 0; i < BLOCKS; i++) {
            blocks[i].size = random_size();
            blocks[i].bytes = batch_alloc(&batch, blocks[i].size);
            assert_non_null(blocks[i].bytes);
            assert_int_equal((uintptr_t)blocks[i].bytes % alignof(max_align_t), 0);
            memset(blocks[i].bytes, i % 251, blocks[i].size);
        }
        for (int i = 0; i < BLOCKS; i++)
            for (size_t at = 0; at < blocks[i].size; at++)
                assert_true(blocks[i].bytes[at] == i % 251);
        batch_reset(&batch);
    }
}

/* Bytes that malloc has handed out; 0 where nobody can tell. */
static size_t bytes_in_use(void)
{
#ifdef __GLIBC__
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

TEST(after_warm_up_nothing_is_allocated)
{
    size_t in_use = 0;

    for (int cycle = 0; cycle < 6; cycle++) {
        if (cycle >= 2)
            in_use = bytes_in_use();
        for (size_t i = 0; i < 1000; i++)
            assert_non_null(batch_alloc(&batch, i % 7 * 100));
        if (cycle >= 2)
            assert_int_equal(bytes_in_use(), in_use);
        batch_reset(&batch);
        if (cycle >= 2)
            assert_int_equal(bytes_in_use(), in_use);
    }
}

/* ---- refusing ---- */

TEST(a_long_reason_is_cut_not_overrun)
{
    char text[10000];
    struct message *message = batch_add(&batch);

    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    batch_refuse(&batch, message, VERDICT_REJECTED, "%s", text);
    assert_in_range(strlen(message->reason), 100, sizeof text - 1);
    assert_memory_equal(message->reason, text, strlen(message->reason));
}
