#include "message/batch.h"
#include "unit/batch.h"
#include "unit/seed.h"

#include <stdalign.h>
#include <stdio.h>
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

static void assert_blank(const struct message *message)
{
    static const struct message blank;

    assert_memory_equal(message->row, blank.row, sizeof blank.row);
    assert_null(message->id.data);
    assert_null(message->event_id.data);
    assert_null(message->topic.data);
    assert_null(message->key.data);
    assert_null(message->type.data);
    assert_null(message->payload.data);
    assert_int_equal(message->payload.len, 0);
    assert_false(message->payload_is_json);
    assert_null(message->created_at.data);
    assert_int_equal(message->attempts, 0);
    assert_null(message->headers);
    assert_int_equal(message->header_count, 0);
    assert_int_equal(message->sink, -1);
    assert_null(message->destination.data);
    assert_null(message->route_key.data);
    assert_int_equal(message->verdict, VERDICT_PENDING);
    assert_null(message->reason);
    assert_int_equal(message->outcome, OUTCOME_UNSENT);
    assert_int_equal(message->retry_ms, 0);
}

TEST(a_new_message_is_zeroed_and_has_no_sink)
{
    assert_blank(batch_add(&batch));
}

TEST(a_message_of_an_earlier_cycle_leaves_nothing_behind)
{
    memset(batch_add(&batch), 0x55, sizeof(struct message));
    batch_reset(&batch);
    assert_int_equal(batch.count, 0);
    assert_blank(batch_add(&batch));
}

TEST(a_reset_forgets_the_outcome_of_the_cycle)
{
    batch.parked = true;
    batch.has_more = true;
    batch_reset(&batch);
    assert_false(batch.parked);
    assert_false(batch.has_more);
    assert_int_equal(batch.capacity, CAPACITY);
}

/* ---- rows ---- */

static int released;

static void count_release(void *rows)
{
    assert_ptr_equal(rows, &released);
    released++;
}

TEST(the_claimed_rows_are_released_once_by_a_reset)
{
    released = 0;
    batch.release_rows = count_release;
    batch_reset(&batch);
    batch.rows = &released;
    batch_reset(&batch);
    assert_int_equal(released, 1);
    assert_null(batch.rows);
    batch_reset(&batch);
    assert_int_equal(released, 1);
}

TEST(the_claimed_rows_are_released_when_the_batch_is_freed)
{
    struct batch other;

    released = 0;
    assert_int_equal(batch_init(&other, 1), 0);
    other.release_rows = count_release;
    other.rows = &released;
    batch_free(&other);
    assert_int_equal(released, 1);
}

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

TEST(sizes_around_those_of_chunks_are_served)
{
    for (size_t size = 65536 - 40; size <= 65536 + 40; size++) {
        void *bytes = batch_alloc(&batch, size);

        assert_non_null(bytes);
        memset(bytes, 0xAA, size);
        if (size % 8 == 0)
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

TEST(a_copy_is_terminated_and_keeps_nul_bytes)
{
    char data[] = {'a', '\0', 'b', 'x'};
    struct text copy = batch_copy(&batch, data, 3);

    memset(data, '#', sizeof data);
    assert_int_equal(copy.len, 3);
    assert_memory_equal(copy.data, "a\0b", 4);
}

TEST(a_copy_of_nothing_is_empty_and_not_null)
{
    struct text copy = batch_copy(&batch, "", 0);

    assert_non_null(copy.data);
    assert_int_equal(copy.len, 0);
    assert_int_equal(copy.data[0], '\0');
}

/* ---- refusing ---- */

TEST(a_refused_message_has_its_verdict_and_formatted_reason)
{
    struct message *message = batch_add(&batch);

    batch_refuse(&batch, message, VERDICT_REJECTED, "payload %d > %s", 1048589, "1000000");
    assert_int_equal(message->verdict, VERDICT_REJECTED);
    assert_string_equal(message->reason, "payload 1048589 > 1000000");
}

TEST(each_refused_message_keeps_its_own_reason)
{
    struct message *first = batch_add(&batch);
    struct message *second = batch_add(&batch);

    batch_refuse(&batch, first, VERDICT_RETRY, "first");
    batch_refuse(&batch, second, VERDICT_WAIT, "second");
    assert_string_equal(first->reason, "first");
    assert_string_equal(second->reason, "second");
    assert_int_equal(first->verdict, VERDICT_RETRY);
    assert_int_equal(second->verdict, VERDICT_WAIT);
}

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
