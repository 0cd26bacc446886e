#include "base/clock.h"
#include "broker/broker.h"
#include "broker/kafka/kafka.h"
#include "integration/found.h"
#include "integration/publishing_kafka.h"

#include <poll.h>

ONCE(kafka_open_reader, kafka_close_reader)

FIXTURE(setup, teardown)

/*
 * Against the real Kafka at $TEST_KAFKA_BROKERS, read back by a consumer of the test's own; and,
 * for errors that a healthy broker does not give, against librdkafka's mock cluster in this
 * process. Each test has a topic of its own.
 */

TEST(a_message_arrives_with_all_its_parts)
{
    struct header headers[] = {{text_of("trace"), text_of("a\r\nb")},
                               {text_of("null"), {NULL, 0}},
                               {text_of("empty"), text_of("")}};
    struct message *message;
    const rd_kafka_message_t *found;
    rd_kafka_headers_t *found_headers;

    create_topic(1, NULL);
    open_broker();
    message = add_message(&batch, topic, "key 1", "{\"n\":1}");
    message->type = text_of("created");
    message->created_at = text_of("2026-01-02T03:04:05Z");
    message->headers = headers;
    message->header_count = 3;
    publish_quickly();
    assert_int_equal(message->verdict, VERDICT_SENT);
    consume(1, 1);
    found = consumed_value("{\"n\":1}");
    assert_int_equal(found->key_len, 5);
    assert_memory_equal(found->key, "key 1", 5);
    assert_header(found, 0, "id", "00000000-0000-4000-8000-000000000001");
    assert_header(found, 1, "type", "created");
    assert_header(found, 2, "created_at", "2026-01-02T03:04:05Z");
    assert_header(found, 3, "trace", "a\r\nb");
    assert_header(found, 4, "empty", "");
    assert_int_equal(rd_kafka_message_headers(found, &found_headers), RD_KAFKA_RESP_ERR_NO_ERROR);
    assert_int_equal(rd_kafka_header_cnt(found_headers), 5);
}

TEST(the_relays_own_headers_have_the_names_that_the_sink_gives_them)
{
    struct header headers[] = {{text_of("id"), text_of("own")},
                               {text_of("_internal_:x"), text_of("\xC3\xBC")},
                               {text_of("null"), {NULL, 0}}};
    const struct header before = {text_of("X-Event-ID"), text_of("own")};
    struct message *message;
    rd_kafka_headers_t *found;
    const void *value = "";
    size_t len;

    options.headers[OWN_ID] = "X-Event-ID";
    options.headers[OWN_TYPE] = "";
    options.headers[OWN_CREATED_AT] = "";
    options.null_headers = true;
    create_topic(1, NULL);
    open_broker();
    message = add_message(&batch, topic, "k", "renamed");
    message->type = text_of("created");
    message->created_at = text_of("2026-01-02T03:04:05Z");
    message->headers = headers;
    message->header_count = 3;
    message = add_message(&batch, topic, "k2", "reserved");
    message->headers = (struct header *)(uintptr_t)&before;
    message->header_count = 1;
    publish_quickly();
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    assert_int_equal(message->verdict, VERDICT_REJECTED);
    assert_non_null(strstr(message->reason, "reserved header"));
    consume(1, 1);
    assert_header(consumed_value("renamed"), 0, "X-Event-ID",
                  "00000000-0000-4000-8000-000000000001");
    assert_header(consumed_value("renamed"), 1, "id", "own");
    assert_header(consumed_value("renamed"), 2, "_internal_:x", "\xC3\xBC");
    assert_int_equal(rd_kafka_message_headers(consumed_value("renamed"), &found),
                     RD_KAFKA_RESP_ERR_NO_ERROR);
    assert_int_equal(rd_kafka_header_cnt(found), 4);
    assert_int_equal(rd_kafka_header_get_last(found, "null", &value, &len),
                     RD_KAFKA_RESP_ERR_NO_ERROR);
    assert_null(value);
}

TEST(null_and_empty_are_two_things)
{
    create_topic(1, NULL);
    open_broker();
    (void)add_message(&batch, topic, NULL, "no key");
    (void)add_message(&batch, topic, "", "empty key");
    (void)add_message(&batch, topic, "tombstone", NULL);
    (void)add_message(&batch, topic, "empty", "");
    publish_quickly();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 4);
    consume(1, 4);
    assert_null(consumed_value("no key")->key);
    assert_non_null(consumed_value("empty key")->key);
    assert_int_equal(consumed_value("empty key")->key_len, 0);
    for (int i = 0; i < 4; i++)
        if (consumed[i]->key != NULL && memcmp(consumed[i]->key, "tombstone", 9) == 0)
            assert_null(consumed[i]->payload);
        else
            assert_non_null(consumed[i]->payload);
}

TEST(a_large_payload_arrives_whole)
{
    size_t len = 1024 * 1024;
    char *payload = malloc(len);

    assert_non_null(payload);
    for (size_t i = 0; i < len; i++)
        payload[i] = (char)(i * 31);
    set_property(&options, "message.max.bytes", "2097152");
    create_topic(1, "4194304");
    open_broker();
    set_payload(add_message(&batch, topic, "k", NULL), payload, len);
    publish();
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    consume(1, 1);
    assert_int_equal(consumed[0]->len, len);
    assert_memory_equal(consumed[0]->payload, payload, len);
    free(payload);
}

/* The hashes that Kafka's own tests of its murmur2 expect, and "abc". */
TEST(keys_go_to_the_partitions_that_java_chooses)
{
    static const struct {
        const char *key;
        int32_t hash;
    } vectors[] = {
        {"21", -973932308},
        {"foobar", -790332482},
        {"a-little-bit-long-string", -985981536},
        {"a-little-bit-longer-string", -1486304829},
        {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971},
        {"abc", 479470107},
    };
    int count = (int)(sizeof vectors / sizeof *vectors);

    create_topic(7, NULL);
    open_broker();
    for (int i = 0; i < count; i++)
        (void)add_message(&batch, topic, vectors[i].key, vectors[i].key);
    publish_quickly();
    consume(7, count);
    for (int i = 0; i < count; i++)
        assert_int_equal(consumed_value(vectors[i].key)->partition,
                         (vectors[i].hash & 0x7FFFFFFF) % 7);
}

TEST(a_full_client_queue_is_waited_for)
{
    set_property(&options, "queue.buffering.max.messages", "10");
    create_topic(1, NULL);
    open_broker();
    fill_batch(BATCH);
    publish();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), BATCH);
    assert_int_equal(stored(1), BATCH);
}

TEST(the_allow_list_is_kept)
{
    create_topic(1, NULL);
    allow(&options, topic);
    open_broker();
    (void)add_message(&batch, topic, NULL, "x");
    (void)add_message(&batch, "another.topic", NULL, "x");
    publish_quickly();
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    assert_refused(&batch.messages[1], VERDICT_DECLINED, "allow list");
}

TEST(an_unknown_topic_waits_while_its_neighbours_are_sent)
{
    char missing[96];
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    (void)snprintf(missing, sizeof missing, "%s.missing", topic);
    create_topic(1, NULL);
    open_broker();
    for (int i = 0; i < 100; i++)
        (void)add_message(&batch, i % 2 == 0 ? topic : missing, NULL, "x");
    publish_quickly();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 50);
    assert_refused(&batch.messages[1], VERDICT_WAIT, "unknown topic \"");
    assert_int_equal(count_verdicts(&batch, VERDICT_WAIT), 50);
    assert_int_equal(request_topic(missing, 1, NULL), RD_KAFKA_RESP_ERR_NO_ERROR);
    do {
        batch_reset(&batch);
        (void)add_message(&batch, missing, NULL, "x");
        publish_quickly();
    } while (batch.messages[0].verdict == VERDICT_WAIT && clock_left_ms(deadline_ms) > 0);
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
}

TEST(create_makes_unknown_topics_as_they_are_met)
{
    char other[96];

    (void)snprintf(other, sizeof other, "%s.other", topic);
    options.create = true;
    open_broker();
    (void)add_message(&batch, topic, NULL, "x");
    (void)add_message(&batch, other, NULL, "x");
    publish();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 2);
}

TEST(a_missing_topic_is_reported_with_the_command_that_creates_it_and_can_be_created)
{
    struct findings findings;
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    assert_int_equal(findings_init(&findings), 0);
    open_broker();
    assert_int_equal(broker_inspect(broker, topic, &findings, &error), -1);
    assert_says(&error, "unknown topic");
    assert_non_null(strstr(error.hint, "kafka-topics.sh"));
    assert_non_null(strstr(error.hint, topic));
    assert_int_equal(broker_inspect(broker, "a/b", &findings, &error), -1);
    assert_says(&error, "invalid topic name");
    assert_int_equal(broker_make(broker, "shop.>", &error), 0);
    assert_int_equal(broker_make(broker, topic, &error), 0);
    assert_int_equal(broker_make(broker, topic, &error), 0);
    /* A broker announces a topic a moment after it has created it. */
    while (broker_inspect(broker, topic, &findings, &error) < 0)
        assert_true(clock_left_ms(deadline_ms) > 0);
    assert_true(found(&findings, "replication factor 1", "kafka-reassign-partitions.sh"));
    findings_free(&findings);
}

TEST(a_killed_broker_ends_the_wait_and_nothing_is_published_later)
{
    int64_t started_ms;

    create_topic(1, NULL);
    open_broker();
    fill_batch(10);
    publish();
    services("kill", "kafka");
    fill_batch(BATCH);
    started_ms = clock_now_ms();
    assert_int_equal(publish_within(LATE_MS), -1);
    assert_int_equal(error.kind, ERROR_TRANSIENT);
    assert_true(clock_now_ms() - started_ms < LATE_MS + SLACK_MS);
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), BATCH);
    assert_int_equal(broker_ready(broker, &error), -1);
    services("start", "kafka");
    wait_until_ready();
    fill_batch(10);
    publish();
    assert_int_equal(stored(1), 20);
}

TEST(a_silent_broker_ends_the_wait_at_the_deadline)
{
    int64_t started_ms;

    create_topic(1, NULL);
    open_broker();
    fill_batch(1);
    publish();
    services("pause", "kafka");
    fill_batch(BATCH);
    started_ms = clock_now_ms();
    assert_int_equal(publish_within(500), -1);
    assert_true(clock_now_ms() - started_ms < 500 + SLACK_MS);
    assert_says(&error, "500 messages were not acknowledged");
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), BATCH);
    /* The client must no longer use the bytes of the batch. */
    batch_reset(&batch);
    services("resume", "kafka");
    wait_until_ready();
    fill_batch(BATCH);
    publish();
    assert_in_range(stored(1), BATCH + 1, 2 * BATCH + 1);
}

/* Delivery reports that have not been read yet. */
static int reports(void)
{
    rd_kafka_queue_t *queue = rd_kafka_queue_get_main(((struct kafka *)broker)->client);
    size_t count = rd_kafka_queue_length(queue);

    rd_kafka_queue_destroy(queue);
    return (int)count;
}

TEST(acknowledgements_that_have_arrived_count_after_the_deadline)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    create_topic(1, NULL);
    open_broker();
    fill_batch(1);
    broker_send(broker, &batch, SINK, clock_now_ms() + 5000);
    while (reports() == 0 && clock_left_ms(deadline_ms) > 0)
        (void)poll(NULL, 0, 1);
    assert_int_equal(reports(), 1);
    assert_int_equal(broker_await(broker, &batch, SINK, clock_now_ms(), &error), 0);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 1);
}

/* ---- errors by injection ---- */

TEST_WITH(a_record_batch_that_is_refused_once_rejects_no_message, setup_mock, teardown_mock)
{
    inject(1, RD_KAFKA_RESP_ERR_INVALID_RECORD);
    fill_batch(5);
    publish();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 5);
}

TEST_WITH(only_a_message_that_is_refused_alone_is_rejected, setup_mock, teardown_mock)
{
    /* One for the record batch of all three, one for the first message alone. */
    inject(2, RD_KAFKA_RESP_ERR_INVALID_RECORD);
    fill_batch(3);
    publish();
    assert_refused(&batch.messages[0], VERDICT_REJECTED, "refused by the broker");
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 2);
}

TEST_WITH(an_error_that_is_not_known_costs_an_attempt, setup_mock, teardown_mock)
{
    inject(2, RD_KAFKA_RESP_ERR_UNKNOWN);
    fill_batch(3);
    publish();
    assert_refused(&batch.messages[0], VERDICT_RETRY, "Unknown broker error");
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 2);
}

/* A wrong timestamp comes from this host's clock, and the other two from settings of the topic or
 * the sink. */
TEST_WITH(an_error_that_no_message_causes_costs_no_attempt, setup_mock, teardown_mock)
{
    static const rd_kafka_resp_err_t codes[] = {RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP,
                                                RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE,
                                                RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT};

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        int64_t deadline_ms = clock_now_ms() + WAIT_MS;

        inject(1, codes[i]);
        fill_batch(3);
        publish();
        assert_int_equal(count_verdicts(&batch, VERDICT_WAIT), 3);
        assert_refused(&batch.messages[0], VERDICT_WAIT, rd_kafka_err2str(codes[i]));
        do {
            fill_batch(3);
            publish();
        } while (count_verdicts(&batch, VERDICT_WAIT) > 0 && clock_left_ms(deadline_ms) > 0);
        assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 3);
    }
}

TEST_WITH(messages_refused_by_a_policy_or_a_quota_wait_and_are_not_rejected, setup_mock,
          teardown_mock)
{
    inject(1, RD_KAFKA_RESP_ERR_POLICY_VIOLATION);
    fill_batch(3);
    publish();
    assert_int_equal(count_verdicts(&batch, VERDICT_WAIT), 3);
    batch.messages[0].verdict = VERDICT_PENDING;
    inject(1, RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED);
    options.publish_timeout_ms = WAIT_MS;
    while (publish_within(WAIT_MS) == 0 && batch.messages[0].verdict == VERDICT_WAIT)
        batch.messages[0].verdict = VERDICT_PENDING;
    assert_in_set(batch.messages[0].verdict, ((unsigned long[]){VERDICT_PENDING, VERDICT_SENT}), 2);
}

TEST_WITH(a_client_queue_that_stays_full_is_reported, setup_mock, teardown_mock)
{
    broker_close(broker);
    set_property(&options, "queue.buffering.max.messages", "2");
    options.publish_timeout_ms = 500;
    open_broker();
    fill_batch(1);
    publish();
    assert_int_equal(rd_kafka_mock_broker_set_down(mock, 1), RD_KAFKA_RESP_ERR_NO_ERROR);
    fill_batch(3);
    assert_int_equal(publish_within(500), -1);
    assert_says(&error, "3 messages were not acknowledged (the client's queue is full)");
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), 3);
    assert_int_equal(rd_kafka_mock_broker_set_up(mock, 1), RD_KAFKA_RESP_ERR_NO_ERROR);
}
