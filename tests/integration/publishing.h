#ifndef INTEGRATION_PUBLISHING_H
#define INTEGRATION_PUBLISHING_H

#include "base/clock.h"
#include "unit/broker/fixture.h"

/* What the tests of one broker client share: one broker object, one batch, and waiting with a
 * deadline. A test program has these once, so they are its own file-scope state. */

#define WAIT_MS 20000
/* The limit for what must not wait for a client library's own time-out, which is five seconds or
 * more. */
#define QUICK_MS 4000
/* A deadline that is meant to pass. Whatever a server does answer arrives long before it. */
#define LATE_MS 2000
/* How much later than its deadline a wait may end on a machine that is busy. */
#define SLACK_MS 2500

static struct sink_options options;
static struct broker *broker;
static struct batch batch;
static struct error error;

static inline int publish_within(int64_t ms)
{
    int64_t deadline_ms = clock_now_ms() + ms;

    broker_send(broker, &batch, SINK, deadline_ms);
    return broker_await(broker, &batch, SINK, deadline_ms, &error);
}

static inline void publish_by_deadline(int64_t ms)
{
    if (publish_within(ms) < 0)
        fail_msg("%s", error.text);
}

static inline void publish(void)
{
    publish_by_deadline(WAIT_MS);
}

static inline void publish_quickly(void)
{
    publish_by_deadline(QUICK_MS);
}

static inline void wait_until_ready(void)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    while (broker_ready(broker, &error) < 0)
        if (clock_left_ms(deadline_ms) == 0)
            fail_msg("%s", error.text);
}

/* On as many connections as it takes: the server may end one while it is being written to. */
static inline void publish_reconnecting(void)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    do
        wait_until_ready();
    while (publish_within(WAIT_MS) < 0 && clock_left_ms(deadline_ms) > 0);
}

/* As by two lanes: `second` is sent by `other` after the batch, and its answers are read before. */
static inline void publish_crosswise(struct broker *other, struct batch *second)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    wait_until_ready();
    assert_int_equal(broker_ready(other, &error), 0);
    broker_send(broker, &batch, SINK, deadline_ms);
    broker_send(other, second, SINK, deadline_ms);
    assert_int_equal(broker_await(other, second, SINK, deadline_ms, &error), 0);
    assert_int_equal(broker_await(broker, &batch, SINK, deadline_ms, &error), 0);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), batch.count);
    assert_int_equal(count_verdicts(second, VERDICT_SENT), second->count);
}

#endif
