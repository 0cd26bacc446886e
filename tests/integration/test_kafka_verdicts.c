#include "integration/capture.h"
#include "integration/found.h"
#include "integration/publishing_kafka.h"

ONCE(kafka_open_reader, kafka_close_reader)

FIXTURE(setup, teardown)

/*
 * What each row and each topic can do wrong: against the real Kafka at $TEST_KAFKA_BROKERS, whose
 * word is the one that counts; only the errors that no row of ours provokes there come from
 * librdkafka's mock cluster (TEST_WITH_MOCK).
 */

#define HEADER_ID_BYTES 36
/* A record batch with one record that has neither key nor timestamp difference, and the header
 * `id`: 61 bytes of batch header, 3 of length, 9 of the record's own fields, 1 + 2 + 1 of header.
 */
#define RECORD_OVERHEAD_BYTES (61 + 3 + 8 + 4 + HEADER_ID_BYTES)
#define BROKER_BYTES_MAX 1048588 /* Kafka's message.max.bytes when nobody sets it */

static char other[96]; /* a second topic */

static void name_other(const char *suffix)
{
    (void)snprintf(other, sizeof other, "%s.%s", topic, suffix);
}

static void publish_until_sent(const char *name)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    do {
        batch_reset(&batch);
        (void)add_message(&batch, name, NULL, "x");
        if (publish_within(WAIT_MS) < 0)
            wait_until_ready();
    } while (batch.messages[0].verdict != VERDICT_SENT && clock_left_ms(deadline_ms) > 0);
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
}

/* A broker may still take records for a moment after it has said that a topic is deleted, or that
 * writing to it is forbidden. */
static void publish_until_refused(const char *name)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    do {
        batch_reset(&batch);
        (void)add_message(&batch, name, NULL, "x");
        publish_by_deadline(2 * QUICK_MS);
    } while (batch.messages[0].verdict == VERDICT_SENT && clock_left_ms(deadline_ms) > 0);
    assert_int_equal(batch.messages[0].verdict, VERDICT_WAIT);
}

/* Every second message for `other`, the rest for `topic`. */
static void fill_for_both(int count)
{
    batch_reset(&batch);
    for (int i = 0; i < count; i++)
        (void)add_message(&batch, i % 2 == 0 ? topic : other, "k", "x");
}

/* The partition of the key may get its leader after another one of a new topic. */
static void publish_for_both_until_sent(int count)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    do {
        fill_for_both(count);
        if (publish_within(WAIT_MS) < 0)
            wait_until_ready();
    } while (count_verdicts(&batch, VERDICT_SENT) < count && clock_left_ms(deadline_ms) > 0);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), count);
}

static void expect_half_waiting(int count, const char *why)
{
    fill_for_both(count);
    publish_by_deadline(2 * QUICK_MS);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), count / 2);
    assert_int_equal(count_verdicts(&batch, VERDICT_WAIT), count / 2);
    assert_refused(&batch.messages[1], VERDICT_WAIT, why);
}

/* ---- whole record batches are refused, one message is to blame ---- */

TEST_WITH(of_a_refused_batch_only_the_guilty_message_is_blamed, setup_mock, teardown_mock)
{
    static const rd_kafka_resp_err_t codes[] = {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
                                                RD_KAFKA_RESP_ERR_INVALID_RECORD};

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        /* The requests in turn: all five messages; {0, 1}, {2, 3} and {4}; then 2 and 3 alone. */
        inject(1, codes[i]);
        inject(1, RD_KAFKA_RESP_ERR_NO_ERROR);
        inject(1, codes[i]);
        inject(2, RD_KAFKA_RESP_ERR_NO_ERROR);
        inject(1, codes[i]);
        fill_batch(5);
        publish_quickly();
        assert_refused(&batch.messages[3], VERDICT_REJECTED, "refused by the broker");
        assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 4);
    }
}

TEST(a_compacted_topic_refuses_only_what_has_no_key)
{
    struct findings findings;

    create_topic_with(1, "cleanup.policy", "compact");
    open_broker();
    fill_batch(100);
    batch.messages[50].route_key = (struct text){NULL, 0};
    publish_quickly();
    assert_refused(&batch.messages[50], VERDICT_REJECTED,
                   "a compacted topic takes no message without a key");
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 99);
    assert_int_equal(findings_init(&findings), 0);
    assert_int_equal(broker_inspect(broker, topic, &findings, &error), 0);
    assert_true(found(&findings, "it is compacted: rows without a key are refused",
                      "cleanup.policy=delete"));
    findings_free(&findings);
}

/* ---- a destination is down ---- */

TEST(a_topic_deleted_while_it_is_used_waits_until_it_is_there_again)
{
    name_other("doomed");
    create_topic(1, NULL);
    assert_int_equal(request_topic(other, 1, NULL), RD_KAFKA_RESP_ERR_NO_ERROR);
    open_broker();
    publish_until_sent(other);
    fill_for_both(10);
    publish();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 10);
    delete_topic(other);
    publish_until_refused(other);
    expect_half_waiting(100, "unknown topic");
    expect_half_waiting(100, "unknown topic");
    assert_int_equal(request_topic(other, 3, NULL), RD_KAFKA_RESP_ERR_NO_ERROR);
    publish_for_both_until_sent(100);
}

/* Describing the topic is allowed, and writing to it is not. */
TEST(a_topic_that_may_not_be_written_waits_until_it_may)
{
    name_other("closed");
    create_topic(1, NULL);
    assert_int_equal(request_topic(other, 1, NULL), RD_KAFKA_RESP_ERR_NO_ERROR);
    open_broker();
    publish_until_sent(other);
    add_acl(other, RD_KAFKA_ACL_OPERATION_ALL, RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW);
    add_acl(other, RD_KAFKA_ACL_OPERATION_WRITE, RD_KAFKA_ACL_PERMISSION_TYPE_DENY);
    publish_until_refused(other);
    expect_half_waiting(100, "Topic authorization failed");
    expect_half_waiting(100, "Topic authorization failed");
    remove_acls(other);
    publish_until_sent(other);
}

/* Even describing the topic is forbidden. */
TEST(a_topic_that_may_not_be_seen_waits_until_it_may)
{
    name_other("hidden");
    create_topic(1, NULL);
    assert_int_equal(request_topic(other, 1, NULL), RD_KAFKA_RESP_ERR_NO_ERROR);
    add_acl(other, RD_KAFKA_ACL_OPERATION_ALL, RD_KAFKA_ACL_PERMISSION_TYPE_DENY);
    await_topic_error(other, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    open_broker();
    expect_half_waiting(100, "Topic authorization failed");
    remove_acls(other);
    publish_until_sent(other);
}

/* ---- partitions are added ---- */

static void fill_keys(int count)
{
    batch_reset(&batch);
    for (int i = 0; i < count; i++) {
        char key[16];

        (void)snprintf(key, sizeof key, "key %d", i);
        (void)add_message(&batch, topic, batch_copy(&batch, key, strlen(key)).data, "x");
    }
}

static void publish_keys(int count)
{
    fill_keys(count);
    publish();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), count);
}

static int64_t stored_beyond(int partition)
{
    return stored(partition + 1) - stored(partition);
}

TEST(added_partitions_are_warned_of_once)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    set_property(&options, "topic.metadata.refresh.interval.ms", "1000");
    create_topic(1, NULL);
    open_broker();
    publish_keys(10);
    grow_topic(2);
    capture_stderr();
    while (stored_beyond(1) == 0 && clock_left_ms(deadline_ms) > 0) {
        fill_keys(10);
        (void)publish_within(WAIT_MS); /* a partition without a leader yet makes messages wait */
    }
    /* Three more refreshes of the metadata find nothing new to warn of. */
    for (deadline_ms = clock_now_ms() + 3000; clock_left_ms(deadline_ms) > 0;)
        publish_keys(10);
    expect_in_stderr("the topic has 2 partitions instead of 1: a key's later messages may be in "
                     "another partition",
                     1);
    assert_true(stored_beyond(1) > 0);
}

TEST(partitions_added_between_two_clients_are_warned_of)
{
    create_topic(1, NULL);
    open_broker();
    publish_keys(10);
    services("pause", "kafka"); /* after which the client is replaced */
    fill_batch(10);
    assert_int_equal(publish_within(200), -1);
    services("resume", "kafka");
    grow_topic(3);
    wait_until_ready();
    capture_stderr();
    publish_until_sent(topic);
    expect_in_stderr("has 3 partitions instead of 1", 1);
}

/* ---- rows ---- */

/* Java's murmur2 of no bytes, as its partitioner would use it. */
TEST(an_empty_key_has_one_partition_always)
{
    create_topic(7, NULL);
    open_broker();
    for (int i = 0; i < 50; i++)
        (void)add_message(&batch, topic, "", "x");
    publish();
    consume(7, 50);
    for (int i = 0; i < 50; i++)
        assert_int_equal(consumed[i]->partition, (275646681 & 0x7FFFFFFF) % 7);
}

TEST(a_key_may_be_long_and_hold_any_byte)
{
    static char key[100000];
    struct message *message;

    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (char)i;
    create_topic(1, NULL);
    open_broker();
    message = add_message(&batch, topic, NULL, "long");
    message->route_key = (struct text){key, sizeof key};
    message = add_message(&batch, topic, NULL, "nul");
    message->route_key = (struct text){"\0a\0", 3};
    publish_quickly();
    consume(1, 2);
    assert_int_equal(consumed_value("long")->key_len, sizeof key);
    assert_memory_equal(consumed_value("long")->key, key, sizeof key);
    assert_int_equal(consumed_value("nul")->key_len, 3);
    assert_memory_equal(consumed_value("nul")->key, "\0a\0", 3);
}

static void add_payload(const char *bytes, size_t len)
{
    set_payload(add_message(&batch, topic, NULL, NULL), bytes, len);
}

/* Around message.max.bytes, where librdkafka adds the headers and its own overhead: each size is
 * sent or refused at once, and from one size on all are refused. */
TEST(at_the_clients_limit_each_size_is_sent_or_refused_at_once)
{
    static char payload[4200];
    bool refused = false;

    set_property(&options, "message.max.bytes", "4096");
    create_topic(1, NULL);
    open_broker();
    for (size_t len = 3800; len < 4100; len++)
        add_payload(payload, len);
    publish_quickly();
    assert_int_equal(
        count_verdicts(&batch, VERDICT_SENT) + count_verdicts(&batch, VERDICT_REJECTED), 300);
    for (int i = 0; i < 300; i++) {
        assert_false(refused && batch.messages[i].verdict == VERDICT_SENT);
        refused = batch.messages[i].verdict == VERDICT_REJECTED;
    }
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    assert_refused(&batch.messages[297], VERDICT_REJECTED, "larger than message.max.bytes 4096");
    assert_int_equal(stored(1), count_verdicts(&batch, VERDICT_SENT));
}

TEST(at_the_brokers_default_limit_one_byte_decides)
{
    size_t fits = BROKER_BYTES_MAX - RECORD_OVERHEAD_BYTES;
    char *payload = calloc(1, fits + 1);

    assert_non_null(payload);
    set_property(&options, "message.max.bytes", "2097152");
    create_topic(1, NULL);
    open_broker();
    add_payload("before", 6);
    add_payload(payload, fits);
    add_payload(payload, fits + 1);
    add_payload("after", 5);
    publish_quickly();
    assert_refused(&batch.messages[2], VERDICT_REJECTED, "refused by the broker");
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 3);
    assert_int_equal(stored(1), 3);
    free(payload);
}

static void add_good(void)
{
    for (int i = 0; i < 10; i++)
        (void)add_message(&batch, topic, "k", "good");
}

static void add_with_headers(struct header *headers, int count)
{
    struct message *message = add_message(&batch, topic, "k", "bad");

    message->headers = headers;
    message->header_count = count;
    add_good();
}

static void add_bad_topics(void)
{
    static char long_name[251];
    static const char *const names[] = {
        "",
        ".",
        "..",
        "a b",
        "a/b",
        "a:b",
        "a\tb",
        "a\r\nb",
        "\xff",
        "a\"b",
        "a\\b",
        "*",
        "ev.>",
        "{a}",
        "__consumer_offsets",
        "__transaction_state",
        long_name,
    };

    memset(long_name, 'a', sizeof long_name - 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)add_message(&batch, names[i], "k", "bad");
        add_good();
    }
    add_message(&batch, topic, "k", "bad")->destination = (struct text){NULL, 0};
    add_message(&batch, topic, "k", "bad")->destination = (struct text){"a\0b", 3};
}

static void add_bad_headers(void)
{
    static char value[17000];
    static struct header many[65];
    static struct header bad[] = {
        {{"", 0}, {"v", 1}},       {{"id", 2}, {"v", 1}},   {{"type", 4}, {"v", 1}},
        {{"a\r\nb", 4}, {"v", 1}}, {{"a\tb", 3}, {"v", 1}}, {{"a\x7f", 2}, {"v", 1}},
        {{"a\0b", 3}, {"v", 1}},   {{"\xe4", 1}, {"v", 1}}, {{"big", 3}, {value, sizeof value}},
    };

    for (size_t i = 0; i < sizeof many / sizeof *many; i++)
        many[i] = (struct header){{"n", 1}, {"v", 1}};
    add_with_headers(many, 65);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        add_with_headers(&bad[i], 1);
}

/* Known too large from the table, too large for the client with its key, too large for the topic.
 */
static void add_bad_sizes(void)
{
    static char payload[1000001];

    add_message(&batch, topic, "k", NULL)->payload_len = (int64_t)1 << 30;
    set_payload(add_message(&batch, topic, "k", NULL), payload, sizeof payload);
    set_payload(add_message(&batch, topic, "k", NULL), payload, sizeof payload - 1);
    set_payload(add_message(&batch, topic, "k", NULL), payload, 500000);
    add_good();
}

TEST(poison_of_each_kind_delays_no_good_row)
{
    int bad;

    create_topic_with(1, "max.message.bytes", "100000");
    open_broker();
    add_good();
    add_bad_topics();
    add_bad_headers();
    add_bad_sizes();
    bad = 17 + 2 + 10 + 4;
    publish_quickly();
    assert_int_equal(count_verdicts(&batch, VERDICT_REJECTED), bad);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), batch.count - bad);
    assert_int_equal(stored(1), batch.count - bad);
}
