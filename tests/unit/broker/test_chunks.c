#include "broker/chunks.h"

#include "base/clock.h"
#include "test.h"

#define FULL (64 * 1024)

static struct chunks chunks;

static int setup(void **state)
{
    (void)state;
    chunks = (struct chunks){0};
    chunks_init(&chunks, FULL, 500);
    return 0;
}

FIXTURE(setup, NULL)

/* Messages have about 1 KiB each. */
static int fill_chunk(void)
{
    static const char payload[900];
    const struct message message = {.payload = {payload, sizeof payload}};
    int count = 0;

    chunk_begin(&chunks);
    while (chunk_takes(&chunks, &message))
        count++;
    return count;
}

static void refuse(int too_large)
{
    (void)fill_chunk();
    chunks.too_large = too_large;
    chunk_end(&chunks);
}

TEST(a_chunk_ends_at_the_limit_of_bytes_or_messages)
{
    assert_in_range(chunks.bytes_max / fill_chunk(), 1000, 1100);
    chunks_init(&chunks, 1000000, 7);
    assert_int_equal(fill_chunk(), 7);
}

TEST(a_chunk_takes_one_message_however_large)
{
    const struct message message = {.payload = {"", 2 * FULL}};

    chunk_begin(&chunks);
    assert_true(chunk_takes(&chunks, &message));
    assert_false(chunk_takes(&chunks, &message));
}

TEST(several_that_are_too_large_together_make_the_next_chunk_smaller)
{
    int count = fill_chunk();

    refuse(count);
    assert_in_range(fill_chunk(), count / 2 - 1, count / 2);
    assert_false(chunks.one_per_key);
    refuse(2);
    assert_in_range(fill_chunk(), count / 4 - 1, count / 4);
    refuse(0);
    assert_in_range(fill_chunk(), count / 4 - 1, count / 4);
    assert_false(chunks.one_per_key);
}

/* Otherwise one message less than was refused would be sent again and again. */
TEST(after_a_refusal_half_of_the_refused_size_is_tried)
{
    chunk_begin(&chunks);
    for (int i = 0; i < 10; i++)
        assert_true(chunk_takes(&chunks, &(struct message){.payload = {"", 900}}));
    chunks.too_large = 10;
    chunk_end(&chunks);
    assert_int_equal(fill_chunk(), 5);
}

TEST(a_message_that_is_too_large_by_itself_is_isolated)
{
    refuse(1);
    assert_true(chunks.one_per_key);
    assert_int_equal(chunks.bytes_max, FULL);
}

TEST(when_the_smallest_chunk_is_refused_a_single_message_is_the_cause)
{
    for (int i = 0; i < 4; i++)
        refuse(2);
    assert_int_equal(chunks.bytes_max, 4096);
    assert_false(chunks.one_per_key);
    refuse(2);
    assert_true(chunks.one_per_key);
    assert_int_equal(chunks.bytes_max, 4096);
}

TEST(after_some_minutes_chunks_are_full_again)
{
    refuse(2);
    assert_in_range(chunks.full_ms - clock_now_ms(), 590000, 600000);
    chunks.full_ms = clock_now_ms();
    (void)fill_chunk();
    assert_int_equal(chunks.bytes_max, FULL);
}
