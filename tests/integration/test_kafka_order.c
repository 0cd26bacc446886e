#include "base/clock.h"
#include "broker/kafka/kafka.h"
#include "integration/keyed_rows.h"
#include "integration/publishing_kafka.h"

ONCE(kafka_open_reader, kafka_close_reader)

/*
 * The order of a key at Kafka when one of its messages is refused: nothing of the key is stored
 * behind it until it is dealt with, and everything else is. The real Kafka at $TEST_KAFKA_BROKERS
 * refuses by a topic's max.message.bytes; librdkafka's mock checks no sequence numbers and so would
 * store whatever it is sent.
 */

#define KEYS 4
#define KEY_ROWS 10
#define TOPIC_BYTES_MAX "1000"
#define LARGE_BYTES 4000

static char large[LARGE_BYTES + 1];
static char values[KEYS * KEY_ROWS][32];
static char keys[KEYS][16];

static int setup_keys(void **state)
{
    if (setup(state) < 0)
        return -1;
    options.keep_order = true;
    row_count = 0;
    memset(large, 'x', LARGE_BYTES);
    return 0;
}

FIXTURE(setup_keys, teardown)

static int setup_keys_mock(void **state)
{
    int status = setup_mock(state);

    broker_close(broker);
    options.keep_order = true;
    row_count = 0;
    open_broker();
    return status;
}

/* Key by key in turn; "K0-3" is the fourth value of the first key. */
static void add_rows(void)
{
    for (int i = 0; i < KEYS * KEY_ROWS; i++) {
        (void)snprintf(keys[i % KEYS], sizeof keys[0], "K%d", i % KEYS);
        (void)snprintf(values[i], sizeof values[0], "K%d-%d", i % KEYS, i / KEYS);
        (void)add_row(topic, keys[i % KEYS], values[i]);
    }
}

static void spoil(int key, int place)
{
    rows[place * KEYS + key].value = large;
}

/* Repeats are ignored. The first occurrences of a key must count up by one. */
static int first_seen(int key)
{
    int next = 0;

    for (int i = 0; i < consumed_count; i++) {
        const char *value = consumed[i]->payload;
        int place;

        if (consumed[i]->len < 4 || value[1] != '0' + key)
            continue;
        place = value[3] - '0';
        if (place > next)
            fail_msg("K%d-%d was stored before K%d-%d", key, place, key, next);
        next += place == next;
    }
    return next;
}

static void consume_all(int partitions)
{
    int64_t count = stored(partitions);

    forget_consumed();
    consume(partitions, (int)count);
}

static void expect_key_held_at(int partitions, int key, int place)
{
    consume_all(partitions);
    for (int i = 0; i < KEYS; i++)
        assert_int_equal(first_seen(i), i == key ? place : KEY_ROWS);
    assert_int_equal(count_rows(OUTCOME_DEAD), 1);
    assert_int_equal(count_rows(OUTCOME_BEHIND), KEY_ROWS - 1 - place);
}

/* Sends one message a request, so that later messages are in flight when one is refused. */
static void one_message_a_request(void)
{
    set_property(&options, "batch.num.messages", "1");
    set_property(&options, "linger.ms", "0");
}

static void expect_hold(int partitions, int key, int place)
{
    add_rows();
    spoil(key, place);
    run_cycles();
    expect_key_held_at(partitions, key, place);
}

/* The broker knows no sequence number of the producer yet, and would accept any. */
TEST(nothing_overtakes_the_very_first_message_that_is_refused)
{
    one_message_a_request();
    create_topic(1, TOPIC_BYTES_MAX);
    open_broker();
    expect_hold(1, 0, 0);
}

TEST(nothing_overtakes_a_message_that_is_refused_later)
{
    one_message_a_request();
    create_topic(1, TOPIC_BYTES_MAX);
    open_broker();
    expect_hold(1, 1, 4);
}

TEST(nothing_overtakes_a_refused_message_on_several_partitions)
{
    one_message_a_request();
    create_topic(3, TOPIC_BYTES_MAX);
    open_broker();
    expect_hold(3, 1, 2);
}

TEST(a_refused_record_batch_holds_its_key_only)
{
    create_topic(3, TOPIC_BYTES_MAX);
    open_broker();
    expect_hold(3, 1, 5);
}

TEST(a_held_key_goes_on_when_its_dead_row_is_dropped)
{
    create_topic(1, TOPIC_BYTES_MAX);
    open_broker();
    expect_hold(1, 1, 8);
    drop_dead_rows();
    run_cycles();
    consume_all(1);
    assert_non_null(consumed_value("K1-9"));
    assert_int_equal(count_rows(OUTCOME_SENT), KEYS * KEY_ROWS - 1);
}

TEST(a_message_that_is_too_large_for_the_client_holds_its_key)
{
    set_property(&options, "message.max.bytes", "1200");
    create_topic(1, NULL);
    open_broker();
    expect_hold(1, 1, 3);
    assert_true(broker_keeps_order(broker, &batch, SINK));
}

/* One of the last spoils the record batch of all: none of it is stored. */
TEST(a_whole_batch_is_one_record_batch_and_is_refused_as_one)
{
    create_topic(1, TOPIC_BYTES_MAX);
    open_broker();
    add_rows();
    spoil(2, KEY_ROWS - 1);
    assert_int_equal(run_cycle(), 0);
    assert_int_equal(batch.last_wave, 0);
    assert_int_equal(count_rows(OUTCOME_UNSENT), KEYS * KEY_ROWS);
    assert_int_equal(stored(1), 0);
    run_cycles();
    expect_key_held_at(1, 2, KEY_ROWS - 1);
}

/* The same holds for a batch that takes several record batches. */
TEST(nothing_overtakes_a_refused_record_batch_of_several)
{
    set_property(&options, "batch.size", "4000");
    create_topic(1, TOPIC_BYTES_MAX);
    open_broker();
    expect_hold(1, 0, 1);
}

/* No single message is larger than the topic takes; only all of them together are. */
TEST(messages_that_are_too_large_only_together_are_sent_in_smaller_chunks)
{
    enum { BYTES = 500 };
    static char padded[KEYS * KEY_ROWS][BYTES + 1];

    create_topic(1, "8000");
    open_broker();
    add_rows();
    for (int i = 0; i < row_count; i++) {
        memset(padded[i], ' ', BYTES);
        memcpy(padded[i], values[i], strlen(values[i]));
        rows[i].value = padded[i];
    }
    assert_int_equal(run_cycle(), 0);
    assert_int_equal(count_rows(OUTCOME_UNSENT), KEYS * KEY_ROWS);
    assert_true(broker_keeps_order(broker, &batch, SINK));
    run_cycles();
    assert_true(broker_keeps_order(broker, &batch, SINK));
    assert_int_equal(count_rows(OUTCOME_SENT), KEYS * KEY_ROWS);
    assert_int_equal(stored(1), KEYS * KEY_ROWS);
    consume_all(1);
    for (int key = 0; key < KEYS; key++)
        assert_int_equal(first_seen(key), KEY_ROWS);
}

TEST_WITH(after_some_seconds_without_a_refusal_whole_batches_are_sent_again, setup_keys_mock,
          teardown_mock)
{
    struct kafka *kafka = (struct kafka *)broker;

    inject(1, RD_KAFKA_RESP_ERR_INVALID_RECORD);
    add_rows();
    assert_int_equal(run_cycle(), 0);
    assert_int_equal(count_rows(OUTCOME_UNSENT), KEYS * KEY_ROWS);
    run_cycles();
    assert_int_equal(count_rows(OUTCOME_SENT), KEYS * KEY_ROWS);
    assert_false(broker_keeps_order(broker, &batch, SINK));
    kafka->chunks.one_per_key_until_ms = clock_now_ms();
    assert_false(
        broker_keeps_order(broker, &batch, SINK)); /* until another message is acknowledged */
    row_count = 0;
    add_rows();
    assert_int_equal(run_cycle(), 0);
    assert_int_equal(batch.last_wave, KEY_ROWS - 1);
    assert_true(broker_keeps_order(broker, &batch, SINK));
    row_count = 0;
    add_rows();
    assert_int_equal(run_cycle(), 0);
    assert_int_equal(batch.last_wave, 0);
    assert_int_equal(count_rows(OUTCOME_SENT), KEYS * KEY_ROWS);
}

/* Every request is refused: no message is sent, and one of each key fails. */
TEST_WITH(a_cluster_that_refuses_everything_fails_only_the_first_message_of_each_key,
          setup_keys_mock, teardown_mock)
{
    inject(1000, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
    add_rows();
    run_cycles();
    assert_int_equal(count_rows(OUTCOME_DEAD), KEYS);
    assert_int_equal(count_rows(OUTCOME_BEHIND), KEYS * (KEY_ROWS - 1));
}

/* Two partitions have no order between them, so the second waits for the first's acknowledgement.
 */
TEST_WITH(a_key_that_changes_its_topic_waits_for_its_acknowledgement, setup_keys_mock,
          teardown_mock)
{
    (void)add_row(topic, "K0", "K0-0");
    (void)add_row(topic, "K0", "K0-1");
    (void)add_row("another", "K0", "K0-2");
    assert_int_equal(rd_kafka_mock_topic_create(mock, "another", 1, 1), 0);
    assert_int_equal(run_cycle(), 0);
    assert_int_equal(batch.last_wave, 1);
    assert_int_equal(batch.messages[1].wave, 0);
    assert_int_equal(batch.messages[2].wave, 1);
    assert_int_equal(count_rows(OUTCOME_SENT), 3);
}
