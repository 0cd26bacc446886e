#include "trace/queue.h"

#include "test.h"

static struct span_queue queue;

static int set_up(void **state)
{
    (void)state;
    queue_init(&queue);
    return queue_open(&queue);
}

static int tear_down(void **state)
{
    (void)state;
    queue_free(&queue);
    return 0;
}

FIXTURE(set_up, tear_down)

static unsigned put(int attempts)
{
    const struct span span = {.attempts = attempts};

    return queue_put(&queue, &span);
}

TEST(spans_come_out_in_their_order_also_beyond_the_end_of_the_ring)
{
    for (int i = 0; i < 3 * QUEUE_SPANS; i++) {
        assert_int_equal(put(i), i < 10 ? i + 1 : 11);
        if (i < 10)
            continue;
        assert_int_equal(queue_at(&queue, 0)->attempts, i - 10);
        assert_int_equal(queue_at(&queue, 10)->attempts, i);
        queue_remove(&queue, 1);
    }
    assert_int_equal(queue_count(&queue), 10);
    assert_int_equal(queue.dropped, 0);
}

TEST(what_finds_the_queue_full_is_dropped_and_counted)
{
    for (int i = 0; i < QUEUE_SPANS; i++)
        assert_int_equal(put(i), i + 1);
    assert_int_equal(put(0), 0);
    assert_int_equal(put(0), 0);
    assert_int_equal(queue_count(&queue), QUEUE_SPANS);
    assert_int_equal(queue.dropped, 2);
    queue_remove(&queue, 1);
    assert_int_equal(put(7), QUEUE_SPANS);
    assert_int_equal(queue_at(&queue, QUEUE_SPANS - 1)->attempts, 7);
}

TEST(who_finds_another_thread_at_the_queue_does_not_wait)
{
    (void)pthread_mutex_lock(&queue.lock);
    assert_int_equal(put(1), 0);
    (void)pthread_mutex_unlock(&queue.lock);
    assert_int_equal(queue.dropped, 1);
    assert_int_equal(put(1), 1);
}
