#include "integration/capture.h"
#include "integration/lane_fixture.h"

#include "base/clock.h"
#include "message/order.h"
#include "relay/lane.h"

#include <sched.h>
#include <stdio.h>

/*
 * A whole lane with a real PostgreSQL and a broker of the test's own. That broker refuses, is slow,
 * goes away or asks for a stop at the wave that the test names, and records what it has stored.
 */

#define ROWS_MAX 600
#define REFUSED "\"refused\""
#define NEVER (-1)
#define SENDS_NOTED 9
#define SLOW_TIMEOUT_MS 600

struct fake_broker {
    struct broker base;
    int stop_at, lose_at; /* while this wave is awaited */
    bool is_slow;         /* each wave takes half of the time that is left */
    int passes_over;      /* this many waves end without a verdict and without an error */
    int sends;
    bool was_set_back[SENDS_NOTED]; /* the thread of this send, sched(7) */
    char stored[ROWS_MAX][16];      /* ids */
    int stored_count;
};

struct rig {
    struct lane_fixture *fixture;
    struct relay_options options;
    struct stop stop;
    struct lane lane;
    struct fake_broker broker;
};

static struct rig rig;

static int fake_ready(struct broker *broker, struct error *error)
{
    (void)broker;
    (void)error;
    return 0;
}

static int64_t fake_payload_max(const struct broker *broker)
{
    (void)broker;
    return PAYLOAD_MAX;
}

static void fake_destroy(struct broker *broker)
{
    (void)broker;
}

/* Fails the test when two messages of one key are handed over in one wave. */
static void fake_send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms)
{
    struct fake_broker *fake = (struct fake_broker *)broker;

    (void)deadline_ms;
    if (fake->sends < SENDS_NOTED)
        fake->was_set_back[fake->sends] = sched_getscheduler(0) == SCHED_BATCH;
    fake->sends++;
    for (int i = 0; i < batch->count; i++)
        for (int j = 0; j < i && order_is_due(batch, &batch->messages[i], sink); j++)
            if (order_is_due(batch, &batch->messages[j], sink) &&
                batch->messages[i].key.data != NULL &&
                text_equal(batch->messages[i].key, batch->messages[j].key))
                fail_msg("two messages of one key at a time");
}

static void store(struct fake_broker *fake, struct batch *batch, struct message *message)
{
    if (text_equal(message->payload, text_of(REFUSED))) {
        batch_refuse(batch, message, VERDICT_REJECTED, "refused");
        return;
    }
    message->verdict = VERDICT_SENT;
    (void)snprintf(fake->stored[fake->stored_count++], sizeof fake->stored[0], "%.*s",
                   (int)message->id.len, message->id.data);
}

static int fake_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
                      struct error *error)
{
    struct fake_broker *fake = (struct fake_broker *)broker;
    int left_ms = clock_left_ms(deadline_ms);

    if (fake->passes_over > 0) {
        fake->passes_over--;
        return 0;
    }
    if (batch->wave == fake->lose_at)
        return error_set(error, ERROR_TRANSIENT, ERROR_BROKER, "lost");
    if (batch->wave == fake->stop_at)
        stop_request(&rig.stop);
    while (fake->is_slow && clock_left_ms(deadline_ms) > left_ms / 2)
        harness_pause();
    for (int i = 0; i < batch->count; i++)
        if (order_is_due(batch, &batch->messages[i], sink))
            store(fake, batch, &batch->messages[i]);
    return 0;
}

static const struct broker_ops fake_ops = {
    .type = "fake",
    .ready = fake_ready,
    .send = fake_send,
    .await = fake_await,
    .payload_max = fake_payload_max,
    .destroy = fake_destroy,
};

static int set_up_lane(void **state)
{
    static char name[] = "events", type[] = "stdout";
    struct lane_fixture *fixture;

    if (set_up_by(state, ON_SENT_MARK, ORDER_KEY, 1) < 0)
        return -1;
    fixture = *state;
    rig = (struct rig){.fixture = fixture};
    rig.options = (struct relay_options){.lanes = 1,
                                         .publish_timeout_ms = 10000,
                                         .outbox = fixture->options,
                                         .retry = {.max_attempts = 1, .backoff_ms = 1000},
                                         .sinks = {{.name = name, .type = type}},
                                         .sink_count = 1};
    rig.broker = (struct fake_broker){.base = {.ops = &fake_ops, .options = &rig.options.sinks[0]},
                                      .stop_at = NEVER,
                                      .lose_at = NEVER};
    return stop_init(&rig.stop);
}

static void open_lane(void)
{
    if (lane_init(&rig.lane, 1, &rig.options, NULL, &rig.stop, &rig.fixture->error) < 0)
        fail_msg("%s", rig.fixture->error.text);
    broker_close(rig.lane.sinks.brokers[0]);
    rig.lane.sinks.brokers[0] = (struct broker *)&rig.broker;
    share(rig.fixture, rig.lane.outbox);
    connect_lane(rig.fixture, rig.lane.outbox);
}

static int tear_down_lane(void **state)
{
    lane_close(&rig.lane);
    stop_free(&rig.stop);
    return tear_down(state);
}

FIXTURE(set_up_lane, tear_down_lane)

/* Keys in turn: k0, k1, ..., k0, ... */
static void insert_keyed(int count, int keys)
{
    sql(rig.fixture->conn,
        "INSERT INTO outbox (topic, key, payload) SELECT 't', 'k' || i %% %d, to_jsonb(i)"
        " FROM generate_series(0, %d) i",
        keys, count - 1);
}

/* A step for the parked rows finds none that is due. */
static void step(enum lane_result expected)
{
    enum lane_result result = lane_step(&rig.lane);

    if (result == LANE_MORE && rig.lane.batch.count == 0)
        result = lane_step(&rig.lane);
    if (result != expected)
        fail_msg("lane_step: %d, not %d: %s", (int)result, (int)expected, rig.lane.error.text);
}

static long long count_sent(void)
{
    return sql_number(rig.fixture->conn, "SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL");
}

static bool is_stored(int id)
{
    for (int i = 0; i < rig.broker.stored_count; i++)
        if (strtol(rig.broker.stored[i], NULL, 10) == id)
            return true;
    return false;
}

TEST(a_key_is_handed_over_message_by_message)
{
    open_lane();
    insert_keyed(30, 3);
    step(LANE_MORE);
    assert_int_equal(rig.broker.sends, 10);
    assert_int_equal(count_sent(), 30);
    for (int i = 0; i < 30; i++)
        assert_int_equal(strtol(rig.broker.stored[i], NULL, 10), i + 1);
}

TEST(a_row_that_fails_holds_its_key_and_nothing_else)
{
    open_lane();
    insert_keyed(30, 3);
    sql(rig.fixture->conn, "UPDATE outbox SET payload = '" REFUSED "' WHERE id = 13");
    step(LANE_MORE);
    for (int id = 1; id <= 30; id++) /* 13 is the fifth of k0 */
        assert_int_equal(is_stored(id), id % 3 != 1 || id < 13);
    assert_int_equal(count_sent(), 24);
    assert_int_equal(lane_report_total(&rig.lane.report, REPORT_DEAD_REJECTED) +
                         lane_report_total(&rig.lane.report, REPORT_DEAD_ATTEMPTS),
                     1);
    assert_int_equal(lane_report_total(&rig.lane.report, REPORT_PARKED_BEHIND), 5);
}

static void note_announcement(void *closure)
{
    expect_in_stderr("the row is dead", 0);
    (*(int *)closure)++;
    capture_stderr();
}

TEST(that_the_servers_are_connected_is_logged_once_and_before_a_row_is_dead)
{
    int announcements = 0;

    open_lane();
    rig.lane.announce = note_announcement;
    rig.lane.closure = &announcements;
    insert_keyed(6, 6);
    step(LANE_MORE);
    assert_int_equal(announcements, 0);
    sql(rig.fixture->conn, "INSERT INTO outbox (topic, key, payload)"
                           " SELECT 't', 'k' || i, '" REFUSED "' FROM generate_series(1, 3) i");
    capture_stderr();
    step(LANE_MORE);
    expect_in_stderr("the row is dead", 3);
    assert_int_equal(announcements, 1);
}

TEST(a_stop_between_waves_leaves_the_rest_and_settles_what_was_sent)
{
    rig.broker.stop_at = 2;
    open_lane();
    insert_keyed(10, 1);
    step(LANE_MORE);
    assert_int_equal(rig.broker.sends, 3);
    assert_int_equal(count_sent(), 3);
}

TEST(a_sink_that_goes_away_between_waves_keeps_what_it_acknowledged)
{
    rig.broker.lose_at = 4;
    open_lane();
    insert_keyed(10, 1);
    step(LANE_BROKEN);
    assert_int_equal(rig.broker.sends, 5);
    assert_int_equal(count_sent(), 4);
    rig.broker.lose_at = NEVER;
    step(LANE_MORE);
    assert_int_equal(count_sent(), 10);
}

/* Each step acknowledges what there is time for, breaks nothing, and goes on in order. */
TEST(a_hot_key_that_takes_longer_than_the_publish_timeout_goes_on_step_by_step)
{
    int sent = 0;

    rig.broker.is_slow = true;
    rig.options.publish_timeout_ms = SLOW_TIMEOUT_MS;
    rig.options.outbox.publish_timeout_ms = SLOW_TIMEOUT_MS;
    open_lane();
    insert_keyed(4, 1);
    while (sent < 4) {
        step(LANE_MORE);
        assert_true(count_sent() > sent);
        sent = (int)count_sent();
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(strtol(rig.broker.stored[i], NULL, 10), i + 1);
}

/* As Kafka's client does with a record batch that was refused whole. */
TEST(a_batch_that_a_broker_passes_over_is_claimed_again_at_once)
{
    open_lane();
    insert_keyed(20, 4);
    rig.broker.passes_over = 1;
    step(LANE_MORE);
    assert_int_equal(count_sent(), 0);
    assert_false(outbox_claims_ahead(rig.lane.outbox));
    step(LANE_MORE);
    assert_int_equal(count_sent(), 20);
}

TEST(a_lane_is_set_back_behind_a_backlog_and_no_longer)
{
    rig.options.outbox.batch = 10;
    open_lane();
    insert_keyed(85, 85);
    assert_int_equal(lane_run(&rig.lane, true), LANE_DRAINED);
    assert_int_equal(rig.broker.sends, SENDS_NOTED);
    for (int i = 0; i < SENDS_NOTED; i++)
        assert_int_equal(rig.broker.was_set_back[i], i >= 8);
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
}

static void insert_parked(int id)
{
    sql(rig.fixture->conn,
        "INSERT INTO outbox_parked (id, event_id, topic, payload, created_at, state, due, error)"
        " SELECT %d, gen_random_uuid(), 't', '1', now(), 'retry', now(), 'broken'",
        id);
}

static void rest(void)
{
    enum lane_result result = lane_step(&rig.lane);

    while (result == LANE_MORE)
        result = lane_step(&rig.lane);
    assert_int_equal(result, LANE_IDLE);
}

/* Whoever wakes a lane waits for a row of the outbox, not for a look at the parked ones. */
TEST(behind_a_rest_the_outbox_comes_before_the_parked_rows)
{
    open_lane();
    rest();
    insert_keyed(1, 1);
    turn_more_parked(&rig.lane.turns, 0);
    assert_int_equal(lane_step(&rig.lane), LANE_MORE);
    assert_int_equal(rig.broker.stored_count, 1);
}

TEST(parked_rows_have_their_turn_between_batches_and_before_a_rest)
{
    rig.options.outbox.batch = 10;
    open_lane();
    rest();
    insert_keyed(30, 30);
    insert_parked(100);
    turn_more_parked(&rig.lane.turns, 0);
    assert_int_equal(lane_step(&rig.lane), LANE_MORE);
    assert_false(is_stored(100));
    assert_int_equal(lane_step(&rig.lane), LANE_MORE);
    assert_true(is_stored(100));
    assert_int_equal(rig.broker.stored_count, 11);
    rest();
    assert_int_equal(rig.broker.stored_count, 31);
    insert_parked(200);
    turn_more_parked(&rig.lane.turns, 0);
    rest();
    assert_true(is_stored(200));
}
