#include "integration/publishing_kafka.h"
#include "message/order.h"

/*
 * Partitions that are down or slow alone, beside others: two brokers of librdkafka's mock cluster,
 * of which each leads every other partition. tests/cluster does the same to real ones.
 */

#define PARTITIONS 4
#define ROWS 80
#define TIMEOUT_MS 1500
#define SOON_MS 700
#define SLOW_MS 1300 /* answers that are late, and yet within the publish timeout */
#define PRODUCE_REQUEST 0
#define SECOND_BROKER (1U << 1 | 1U << 3) /* the partitions that it leads */
#define OFFLINE 1                         /* a partition of the second broker */

static int setup_partitions(void **state)
{
    int status;

    mock_brokers = 2;
    status = setup_mock(state);
    mock_brokers = 1;
    (void)snprintf(topic, sizeof topic, "parts.%d", number);
    if (status < 0 || rd_kafka_mock_topic_create(mock, topic, PARTITIONS, 2) != 0)
        return -1;
    for (int i = 0; i < PARTITIONS; i++)
        if (rd_kafka_mock_partition_set_leader(mock, topic, i, 1 + i % 2) != 0)
            return -1;
    broker_close(broker);
    options.publish_timeout_ms = TIMEOUT_MS;
    open_broker();
    return 0;
}

FIXTURE(setup_partitions, teardown_mock)

static void fill(const char *key)
{
    batch_reset(&batch);
    batch.parked = false;
    for (int i = 0; i < ROWS; i++) {
        char text[16];

        (void)snprintf(text, sizeof text, "k%d", i);
        (void)add_message(&batch, topic,
                          key != NULL ? batch_copy(&batch, text, strlen(text)).data : NULL, "v");
    }
}

static void publish_keyed(void)
{
    fill("");
    wait_until_ready();
    publish_by_deadline(options.publish_timeout_ms);
}

static int64_t milliseconds_to_publish(bool parked)
{
    int64_t started_ms;

    fill("");
    batch.parked = parked;
    wait_until_ready();
    started_ms = clock_now_ms();
    publish_by_deadline(options.publish_timeout_ms);
    return clock_now_ms() - started_ms;
}

/* Rows of the partitions for which `are_away` has a bit wait, the others are sent. */
static void assert_waiting(unsigned are_away, const char *why)
{
    unsigned seen = 0;

    for (int i = 0; i < batch.count; i++) {
        const struct message *message = &batch.messages[i];
        bool waits = (are_away >> message->partition & 1) != 0;

        assert_in_range(message->partition, 0, PARTITIONS - 1);
        seen |= 1U << message->partition;
        assert_int_equal(message->verdict, waits ? VERDICT_WAIT : VERDICT_SENT);
        if (waits)
            assert_non_null(strstr(message->reason, why));
    }
    assert_int_equal(seen & are_away, are_away);
}

static void await_all_sent(void)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    do
        publish_keyed();
    while (count_verdicts(&batch, VERDICT_SENT) < ROWS && clock_left_ms(deadline_ms) > 0);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), ROWS);
}

TEST(a_partition_without_a_leader_costs_the_others_one_publish_timeout)
{
    publish_keyed();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), ROWS);
    assert_int_equal(rd_kafka_mock_partition_set_leader(mock, topic, OFFLINE, -1), 0);
    publish_keyed();
    assert_waiting(1U << OFFLINE, "partition 1 has no leader");
    for (int i = 0; i < 3; i++) {
        assert_true(milliseconds_to_publish(i == 1) < SOON_MS);
        assert_waiting(1U << OFFLINE, "partition 1 has no leader");
    }
    assert_int_equal(rd_kafka_mock_partition_set_leader(mock, topic, OFFLINE, 2), 0);
    await_all_sent();
}

TEST(a_second_partition_that_loses_its_leader_costs_nothing)
{
    assert_int_equal(rd_kafka_mock_partition_set_leader(mock, topic, OFFLINE, -1), 0);
    publish_keyed();
    assert_int_equal(rd_kafka_mock_partition_set_leader(mock, topic, 2, -1), 0);
    wait_until_ready();
    while (batch.messages == NULL || count_verdicts(&batch, VERDICT_WAIT) < ROWS / 3)
        assert_true(milliseconds_to_publish(false) < SOON_MS);
    assert_waiting(1U << OFFLINE | 1U << 2, "has no leader");
}

static void refuse_at_second_broker(int requests)
{
    for (int i = 0; i < requests; i++)
        assert_int_equal(rd_kafka_mock_broker_push_request_error_rtts(
                             mock, 2, PRODUCE_REQUEST, 1, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, 0),
                         0);
}

TEST(partitions_that_are_refused_wait_until_another_broker_leads_them)
{
    refuse_at_second_broker(1000);
    publish_keyed();
    assert_waiting(SECOND_BROKER, "acknowledges nothing");
    for (int i = 0; i < 3; i++) {
        assert_true(milliseconds_to_publish(i == 1) < SOON_MS);
        assert_waiting(SECOND_BROKER, "acknowledges nothing");
    }
    assert_int_equal(rd_kafka_mock_partition_set_leader(mock, topic, 1, 1), 0);
    assert_int_equal(rd_kafka_mock_partition_set_leader(mock, topic, 3, 1), 0);
    await_all_sent();
}

/* Nothing in the metadata says so. */
TEST(a_partition_that_is_no_longer_refused_is_found_by_a_trial)
{
    int64_t deadline_ms = clock_now_ms() + 2 * WAIT_MS;

    broker_close(broker);
    set_property(&options, "retry.backoff.ms", "1000");
    open_broker();
    refuse_at_second_broker(4);
    publish_keyed();
    assert_waiting(SECOND_BROKER, "acknowledges nothing");
    while (count_verdicts(&batch, VERDICT_SENT) < ROWS && clock_left_ms(deadline_ms) > 0)
        publish_keyed();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), ROWS);
}

static bool is_sent_to_offline(void)
{
    for (int i = 0; i < batch.count; i++)
        if (batch.messages[i].partition == OFFLINE && batch.messages[i].verdict == VERDICT_SENT)
            return true;
    return false;
}

TEST(messages_without_a_key_go_to_other_partitions_until_it_is_back)
{
    int64_t deadline_ms;

    assert_int_equal(rd_kafka_mock_partition_set_leader(mock, topic, OFFLINE, -1), 0);
    publish_keyed();
    fill(NULL);
    wait_until_ready();
    publish_by_deadline(SOON_MS);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), ROWS);
    for (int i = 0; i < ROWS; i++)
        assert_int_not_equal(batch.messages[i].partition, OFFLINE);
    assert_int_equal(rd_kafka_mock_partition_set_leader(mock, topic, OFFLINE, 2), 0);
    deadline_ms = clock_now_ms() + WAIT_MS;
    do {
        fill(NULL);
        wait_until_ready();
        publish_by_deadline(options.publish_timeout_ms);
    } while (!is_sent_to_offline() && clock_left_ms(deadline_ms) > 0);
    assert_true(is_sent_to_offline());
}

/* The deadline of a batch is no verdict about partitions when the messages had little time. */
TEST(messages_that_had_no_time_stay_pending)
{
    publish_keyed();
    assert_int_equal(rd_kafka_mock_broker_set_rtt(mock, 2, SLOW_MS), 0);
    fill("");
    assert_int_equal(publish_within(TIMEOUT_MS / 3), -1);
    assert_int_equal(count_verdicts(&batch, VERDICT_WAIT), 0);
}

TEST(a_slow_partition_is_kept_apart_until_it_is_quick)
{
    options.publish_timeout_ms = WAIT_MS;
    publish_keyed();
    assert_int_equal(rd_kafka_mock_broker_set_rtt(mock, 2, SLOW_MS), 0);
    for (int i = 0; i < 4; i++)
        publish_keyed();
    assert_true(milliseconds_to_publish(false) < SOON_MS);
    assert_waiting(SECOND_BROKER, "acknowledges slowly");
    (void)milliseconds_to_publish(true);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), ROWS);
    assert_int_equal(rd_kafka_mock_broker_set_rtt(mock, 2, 0), 0);
    do
        (void)milliseconds_to_publish(true);
    while (milliseconds_to_publish(false) > SOON_MS || count_verdicts(&batch, VERDICT_WAIT) > 0);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), ROWS);
}

TEST(when_all_is_slow_nothing_waits)
{
    options.publish_timeout_ms = WAIT_MS;
    publish_keyed();
    for (int i = 1; i <= 2; i++)
        assert_int_equal(rd_kafka_mock_broker_set_rtt(mock, i, SLOW_MS), 0);
    for (int i = 0; i < 4; i++) {
        publish_keyed();
        assert_int_equal(count_verdicts(&batch, VERDICT_SENT), ROWS);
    }
}
