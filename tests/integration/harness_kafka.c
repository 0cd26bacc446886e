/*
 * The test's own view of a Kafka cluster: topics made and changed, what they hold, errors injected
 * into librdkafka's mock cluster.
 */

#include "integration/harness_kafka.h"

#include "base/bounded_call.h"
#include "base/clock.h"
#include "integration/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRODUCE_REQUEST 0 /* the protocol's number */
#define CLOSE_READER_MS 20000

rd_kafka_t *reader;
rd_kafka_message_t *consumed[CONSUMED_MAX];
int consumed_count;
char topic[64];
rd_kafka_mock_cluster_t *mock;

rd_kafka_t *open_client(rd_kafka_type_t type, const char *brokers)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_t *client;
    char why[256];

    if (brokers != NULL)
        (void)rd_kafka_conf_set(conf, "bootstrap.servers", brokers, why, sizeof why);
    (void)rd_kafka_conf_set(conf, "log_level", "0", why, sizeof why);
    if (type == RD_KAFKA_CONSUMER) {
        (void)rd_kafka_conf_set(conf, "group.id", "test", why, sizeof why);
        (void)rd_kafka_conf_set(conf, "enable.auto.commit", "false", why, sizeof why);
        (void)rd_kafka_conf_set(conf, "fetch.message.max.bytes", "4194304", why, sizeof why);
    }
    client = rd_kafka_new(type, conf, why, sizeof why);
    assert_non_null(client);
    return client;
}

/* What the broker says of the topic; the caller destroys it. */
static const struct rd_kafka_metadata *ask_about(const char *name)
{
    rd_kafka_topic_t *handle = rd_kafka_topic_new(reader, name, NULL);
    const struct rd_kafka_metadata *metadata;

    assert_int_equal(rd_kafka_metadata(reader, 0, handle, &metadata, HARNESS_WAIT_MS), 0);
    rd_kafka_topic_destroy(handle);
    return metadata;
}

static bool has_leaders(int partitions)
{
    const struct rd_kafka_metadata *metadata = ask_about(topic);
    int leaders = 0;

    for (int i = 0; i < metadata->topics[0].partition_cnt; i++)
        leaders += metadata->topics[0].partitions[i].leader >= 0;
    rd_kafka_metadata_destroy(metadata);
    return leaders == partitions;
}

void await_topic_error(const char *name, rd_kafka_resp_err_t code)
{
    int64_t deadline_ms = clock_now_ms() + HARNESS_WAIT_MS;
    rd_kafka_resp_err_t found;

    do {
        const struct rd_kafka_metadata *metadata = ask_about(name);

        assert_true(clock_left_ms(deadline_ms) > 0);
        found = metadata->topics[0].err;
        rd_kafka_metadata_destroy(metadata);
    } while (found != code);
}

static void await_leaders(int partitions)
{
    int64_t deadline_ms = clock_now_ms() + HARNESS_WAIT_MS;

    while (!has_leaders(partitions))
        assert_true(clock_left_ms(deadline_ms) > 0);
}

/* The one answer to one administrative request; the caller destroys it. */
static rd_kafka_event_t *await_answer(rd_kafka_queue_t *queue)
{
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, HARNESS_WAIT_MS);

    assert_non_null(event);
    rd_kafka_queue_destroy(queue);
    return event;
}

static void expect_answer(rd_kafka_queue_t *queue)
{
    rd_kafka_event_t *event = await_answer(queue);

    if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
        fail_msg("%s", rd_kafka_event_error_string(event));
    rd_kafka_event_destroy(event);
}

rd_kafka_resp_err_t request_topic_with(const char *name, int partitions, const char *setting,
                                       const char *value)
{
    char why[256];
    rd_kafka_NewTopic_t *new_topic = rd_kafka_NewTopic_new(name, partitions, 1, why, sizeof why);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(reader);
    rd_kafka_event_t *event;
    rd_kafka_resp_err_t code;
    size_t count;

    assert_non_null(new_topic);
    if (value != NULL)
        (void)rd_kafka_NewTopic_set_config(new_topic, setting, value);
    rd_kafka_CreateTopics(reader, &new_topic, 1, NULL, queue);
    event = await_answer(queue);
    code = rd_kafka_event_error(event);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        code = rd_kafka_topic_result_error(rd_kafka_CreateTopics_result_topics(
            rd_kafka_event_CreateTopics_result(event), &count)[0]);
    rd_kafka_event_destroy(event);
    rd_kafka_NewTopic_destroy(new_topic);
    return code;
}

rd_kafka_resp_err_t request_topic(const char *name, int partitions, const char *max_bytes)
{
    return request_topic_with(name, partitions, "max.message.bytes", max_bytes);
}

void delete_topic(const char *name)
{
    rd_kafka_DeleteTopic_t *gone = rd_kafka_DeleteTopic_new(name);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(reader);

    rd_kafka_DeleteTopics(reader, &gone, 1, NULL, queue);
    expect_answer(queue);
    rd_kafka_DeleteTopic_destroy(gone);
}

void grow_topic(int partitions)
{
    char why[256];
    rd_kafka_NewPartitions_t *more =
        rd_kafka_NewPartitions_new(topic, (size_t)partitions, why, sizeof why);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(reader);

    rd_kafka_CreatePartitions(reader, &more, 1, NULL, queue);
    expect_answer(queue);
    rd_kafka_NewPartitions_destroy(more);
    await_leaders(partitions);
}

void add_acl(const char *name, rd_kafka_AclOperation_t operation,
             rd_kafka_AclPermissionType_t permission)
{
    char why[256];
    rd_kafka_AclBinding_t *binding =
        rd_kafka_AclBinding_new(RD_KAFKA_RESOURCE_TOPIC, name, RD_KAFKA_RESOURCE_PATTERN_LITERAL,
                                "User:ANONYMOUS", "*", operation, permission, why, sizeof why);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(reader);
    rd_kafka_event_t *event;
    size_t count;

    assert_non_null(binding);
    rd_kafka_CreateAcls(reader, &binding, 1, NULL, queue);
    event = await_answer(queue);
    assert_int_equal(rd_kafka_event_error(event), RD_KAFKA_RESP_ERR_NO_ERROR);
    assert_null(rd_kafka_acl_result_error(
        rd_kafka_CreateAcls_result_acls(rd_kafka_event_CreateAcls_result(event), &count)[0]));
    rd_kafka_event_destroy(event);
    rd_kafka_AclBinding_destroy(binding);
}

void remove_acls(const char *name)
{
    char why[256];
    rd_kafka_AclBindingFilter_t *filter = rd_kafka_AclBindingFilter_new(
        RD_KAFKA_RESOURCE_TOPIC, name, RD_KAFKA_RESOURCE_PATTERN_LITERAL, NULL, NULL,
        RD_KAFKA_ACL_OPERATION_ANY, RD_KAFKA_ACL_PERMISSION_TYPE_ANY, why, sizeof why);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(reader);

    assert_non_null(filter);
    rd_kafka_DeleteAcls(reader, &filter, 1, NULL, queue);
    expect_answer(queue);
    rd_kafka_AclBinding_destroy(filter);
}

/* A broker announces a topic a moment after it has created it. Without this wait the first batch of
 * a test would wait. */
void create_topic_with(int partitions, const char *setting, const char *value)
{
    assert_int_equal(request_topic_with(topic, partitions, setting, value),
                     RD_KAFKA_RESP_ERR_NO_ERROR);
    await_leaders(partitions);
}

void create_topic(int partitions, const char *max_bytes)
{
    create_topic_with(partitions, "max.message.bytes", max_bytes);
}

/* The broker names the leader of a new partition a moment before that leader serves it. */
static int64_t stored_in(int partition)
{
    int64_t deadline_ms = clock_now_ms() + HARNESS_WAIT_MS;
    int64_t low = 0;
    int64_t high = 0;
    rd_kafka_resp_err_t code;

    do
        code = rd_kafka_query_watermark_offsets(reader, topic, partition, &low, &high,
                                                HARNESS_WAIT_MS);
    while (code == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION && clock_left_ms(deadline_ms) > 0);
    assert_int_equal(code, RD_KAFKA_RESP_ERR_NO_ERROR);
    return high - low;
}

int64_t stored(int partitions)
{
    int64_t count = 0;

    for (int i = 0; i < partitions; i++)
        count += stored_in(i);
    return count;
}

void forget_consumed(void)
{
    while (consumed_count > 0)
        rd_kafka_message_destroy(consumed[--consumed_count]);
}

/* All partitions from their beginning, until so many messages have come. */
void consume(int partitions, int expected)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(partitions);
    int64_t deadline_ms = clock_now_ms() + HARNESS_WAIT_MS;

    for (int i = 0; i < partitions; i++)
        rd_kafka_topic_partition_list_add(list, topic, i)->offset = 0;
    assert_int_equal(rd_kafka_assign(reader, list), RD_KAFKA_RESP_ERR_NO_ERROR);
    while (consumed_count < expected && clock_left_ms(deadline_ms) > 0) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(reader, 100);

        if (message != NULL && message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
            consumed[consumed_count++] = message;
        else if (message != NULL)
            rd_kafka_message_destroy(message);
    }
    (void)rd_kafka_assign(reader, NULL);
    rd_kafka_topic_partition_list_destroy(list);
    assert_int_equal(consumed_count, expected);
}

const rd_kafka_message_t *consumed_value(const char *value)
{
    for (int i = 0; i < consumed_count; i++)
        if (consumed[i]->len == strlen(value) &&
            memcmp(consumed[i]->payload, value, strlen(value)) == 0)
            return consumed[i];
    fail_msg("no message \"%s\"", value);
    return NULL;
}

void assert_header(const rd_kafka_message_t *message, size_t at, const char *name,
                   const char *expected)
{
    rd_kafka_headers_t *headers = NULL;
    const char *found;
    const void *value;
    size_t len;

    assert_int_equal(rd_kafka_message_headers(message, &headers), RD_KAFKA_RESP_ERR_NO_ERROR);
    assert_int_equal(rd_kafka_header_get_all(headers, at, &found, &value, &len),
                     RD_KAFKA_RESP_ERR_NO_ERROR);
    assert_string_equal(found, name);
    assert_int_equal(len, strlen(expected));
    assert_memory_equal(value, expected, len);
}

void inject(int count, rd_kafka_resp_err_t code)
{
    for (int i = 0; i < count; i++)
        rd_kafka_mock_push_request_errors(mock, PRODUCE_REQUEST, 1, code);
}

int kafka_open_reader(void **state)
{
    (void)state;
    reader = open_client(RD_KAFKA_CONSUMER, harness_env("TEST_KAFKA_BROKERS"));
    return 0;
}

static void destroy_reader(void *client)
{
    rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

static void drop_nothing(void *client)
{
    (void)client;
}

/* librdkafka 2.0.2 may wait for ever for a thread of its own. */
int kafka_close_reader(void **state)
{
    static struct bounded_call *late;

    (void)state;
    (void)bounded_call_run(&late, destroy_reader, drop_nothing, reader,
                           clock_now_ms() + CLOSE_READER_MS);
    return 0;
}
