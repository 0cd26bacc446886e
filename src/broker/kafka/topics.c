/*
 * The table of topics that this broker object has asked about.
 *
 * Purpose: librdkafka holds a message for an unknown topic for seconds before it fails, and the
 * whole batch would wait with it. So the broker is asked at the first use of a topic, in one
 * request for all new topics of a batch, before anything is produced. A negative answer is valid
 * for one second; a positive one until a delivery report contradicts it or
 * topic.metadata.refresh.interval.ms has passed. A change of the partition count is then logged.
 *
 * The table is bounded. When it is full it is emptied, which costs one more request per topic.
 */

#include "broker/kafka/kafka.h"

#include "base/clock.h"
#include "base/log.h"
#include "message/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_AGAIN_MS 1000
#define CREATE_TIMEOUT_MS 5000
#define APPEAR_POLL_MS 20

static bool is_named(const struct kafka_topic *topic, struct text name)
{
    return topic->name_len == name.len && memcmp(topic->name, name.data, name.len) == 0;
}

/* The slot that holds the name, or the free slot for it. */
static struct kafka_topic *slot_of(struct kafka *kafka, struct text name)
{
    size_t at = text_hash(name) % KAFKA_TOPIC_SLOTS;

    for (;; at = (at + 1) % KAFKA_TOPIC_SLOTS) {
        struct kafka_topic *topic = &kafka->topics[at];

        if (topic->name == NULL || is_named(topic, name))
            return topic;
    }
}

/* Usually the topic is the same as the previous message's. */
struct kafka_topic *kafka_topic_find(struct kafka *kafka, struct text name)
{
    struct kafka_topic *topic = kafka->topic_found;

    if (topic != NULL && is_named(topic, name))
        return topic;
    topic = slot_of(kafka, name);
    if (topic->name == NULL)
        return NULL;
    kafka->topic_found = topic;
    return topic;
}

void kafka_topics_clear(struct kafka *kafka)
{
    kafka->topic_found = NULL;
    for (size_t i = 0; kafka->topic_count > 0 && i < KAFKA_TOPIC_SLOTS; i++) {
        struct kafka_topic *topic = &kafka->topics[i];

        if (topic->name == NULL)
            continue;
        if (topic->handle != NULL)
            rd_kafka_topic_destroy(topic->handle);
        free(topic->name);
        kafka_partitions_forget(kafka, topic);
        *topic = (struct kafka_topic){0};
        kafka->topic_count--;
    }
}

void kafka_topics_release(struct kafka *kafka)
{
    for (size_t i = 0; kafka->topic_count > 0 && i < KAFKA_TOPIC_SLOTS; i++) {
        struct kafka_topic *topic = &kafka->topics[i];

        if (topic->handle != NULL)
            rd_kafka_topic_destroy(topic->handle);
        topic->handle = NULL;
        topic->refusal = RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
        topic->ask_again_at_ms = 0;
    }
}

static struct kafka_topic *add(struct kafka *kafka, struct text name)
{
    struct kafka_topic added = {.name_len = name.len, .refusal = RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC};
    struct kafka_topic *slot;

    if (kafka->topic_count == KAFKA_TOPICS_MAX)
        kafka_topics_clear(kafka);
    added.name = strndup(name.data, name.len);
    if (added.name == NULL)
        return NULL;
    slot = slot_of(kafka, name);
    *slot = added;
    kafka->topic_count++;
    return slot;
}

struct kafka_topic *kafka_topic_use(struct kafka *kafka, struct text name)
{
    struct kafka_topic *topic = kafka_topic_find(kafka, name);

    if (topic == NULL)
        topic = add(kafka, name);
    if (topic != NULL && topic->handle == NULL)
        topic->handle = rd_kafka_topic_new(kafka->client, topic->name, NULL);
    return topic != NULL && topic->handle != NULL ? topic : NULL;
}

void kafka_topic_invalidate(struct kafka *kafka, struct text name, rd_kafka_resp_err_t why)
{
    struct kafka_topic *topic = kafka_topic_find(kafka, name);

    if (topic == NULL)
        return;
    topic->refusal = why;
    topic->ask_again_at_ms = clock_now_ms() + ASK_AGAIN_MS;
}

/* A key's partition is its hash modulo the partition count, so a new count moves keys. */
static void compare_count(const struct kafka *kafka, const struct kafka_topic *topic, int count)
{
    if (topic->partition_count != 0 && topic->partition_count != count)
        log_event(
            LOG_WARN,
            LOG_FIELDS(.sink = kafka->base.options->name, .destination = text_of(topic->name)),
            "the topic has %d partition%s instead of %d: a key's later messages may be in "
            "another partition than its earlier ones",
            count, PLURAL(count), topic->partition_count);
}

static void note_answer(struct kafka *kafka, const struct rd_kafka_metadata_topic *answer)
{
    struct kafka_topic *topic = kafka_topic_find(kafka, text_of(answer->topic));

    if (topic == NULL)
        return;
    topic->ask_again_at_ms = clock_now_ms() + ASK_AGAIN_MS;
    topic->refusal = answer->err;
    kafka_floors_note(kafka, topic, answer);
    /* A leader election is no reason to park messages for a topic that existed before. */
    if (topic->partition_count > 0 && (kafka_class_of(answer->err) == KAFKA_BROKER_DOWN ||
                                       kafka_class_of(answer->err) == KAFKA_PARTITION_DOWN)) {
        topic->refusal = RD_KAFKA_RESP_ERR_NO_ERROR;
        return;
    }
    if (answer->err == RD_KAFKA_RESP_ERR_NO_ERROR && answer->partition_cnt == 0)
        topic->refusal = RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
    if (topic->refusal != RD_KAFKA_RESP_ERR_NO_ERROR)
        return;
    compare_count(kafka, topic, answer->partition_cnt);
    kafka_partitions_note(kafka, topic, answer);
    kafka_floors_read(kafka, topic);
    if (kafka->offline_count > 0)
        return;
    topic->ask_again_at_ms = INT64_MAX;
    if (kafka->refresh_ms >= 0)
        topic->ask_again_at_ms =
            clock_now_ms() + (kafka->refresh_ms > ASK_AGAIN_MS ? kafka->refresh_ms : ASK_AGAIN_MS);
}

int kafka_topics_ask(struct kafka *kafka, rd_kafka_topic_t *only, int timeout_ms)
{
    rd_kafka_resp_err_t code;
    const struct rd_kafka_metadata *metadata = kafka_ask_metadata(kafka, only, timeout_ms, &code);

    if (metadata == NULL)
        return -1;
    for (int i = 0; i < metadata->topic_cnt; i++)
        note_answer(kafka, &metadata->topics[i]);
    rd_kafka_metadata_destroy(metadata);
    return 0;
}

rd_kafka_AdminOptions_t *kafka_admin_options(struct kafka *kafka, rd_kafka_admin_op_t operation,
                                             int timeout_ms)
{
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(kafka->client, operation);
    char why[KAFKA_REASON_BYTES];

    /* A failure is harmless: the caller bounds the wait for the answer anyway. */
    (void)rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, why, sizeof why);
    return options;
}

static int judge_creation(struct kafka *kafka, rd_kafka_event_t *event, const char *name,
                          struct error *error)
{
    const rd_kafka_CreateTopics_result_t *result = rd_kafka_event_CreateTopics_result(event);
    const rd_kafka_topic_result_t **topics;
    rd_kafka_resp_err_t code;
    char text[KAFKA_REASON_BYTES];
    size_t count;

    if (result == NULL || rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return kafka_fail(kafka, error, ERROR_TRANSIENT, rd_kafka_event_error_string(event));
    topics = rd_kafka_CreateTopics_result_topics(result, &count);
    code = count == 1 ? rd_kafka_topic_result_error(topics[0]) : RD_KAFKA_RESP_ERR__FAIL;
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        kafka_floors_made(kafka, name);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
        return 0;
    (void)snprintf(text, sizeof text, "cannot create topic \"%s\": %s", name,
                   rd_kafka_err2str(code));
    return kafka_fail(kafka, error, ERROR_PERMANENT, text);
}

/* Partition count and replication factor are left to the broker's defaults, which the cluster's
 * owner has chosen. */
int kafka_topic_create(struct kafka *kafka, const char *name, int timeout_ms, struct error *error)
{
    char why[KAFKA_REASON_BYTES];
    rd_kafka_NewTopic_t *topic = rd_kafka_NewTopic_new(name, -1, -1, why, sizeof why);
    rd_kafka_AdminOptions_t *options;
    rd_kafka_queue_t *answers;
    rd_kafka_event_t *event;
    int status;

    if (topic == NULL)
        return kafka_fail(kafka, error, ERROR_PERMANENT, why);
    options = kafka_admin_options(kafka, RD_KAFKA_ADMIN_OP_CREATETOPICS, timeout_ms);
    answers = rd_kafka_queue_new(kafka->client);
    rd_kafka_CreateTopics(kafka->client, &topic, 1, options, answers);
    event = rd_kafka_queue_poll(answers, timeout_ms);
    if (event != NULL)
        status = judge_creation(kafka, event, name, error);
    else
        status =
            kafka_fail(kafka, error, ERROR_TRANSIENT, "no answer to the request to create a topic");
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(answers);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_NewTopic_destroy(topic);
    return status;
}

/* The cluster takes a moment to announce a new topic, so this waits until it appears. */
static void create(struct kafka *kafka, struct kafka_topic *topic, int64_t deadline_ms)
{
    struct error error;

    if (kafka_topic_create(kafka, topic->name, clock_left_ms(deadline_ms), &error) < 0) {
        log_event(LOG_WARN,
                  LOG_FIELDS(.sink = kafka->base.options->name, .destination = text_of(topic->name),
                             .error = error.text, .hint = error.hint),
                  "the topic could not be created");
        return;
    }
    while (kafka_topics_ask(kafka, topic->handle, clock_left_ms(deadline_ms)) == 0 &&
           kafka_is_unknown(topic->refusal) && clock_left_ms(deadline_ms) > 0)
        (void)rd_kafka_poll(kafka->client, APPEAR_POLL_MS);
}

void kafka_topics_create(struct kafka *kafka, const struct batch *batch, int sink)
{
    int64_t deadline_ms = clock_now_ms() + CREATE_TIMEOUT_MS;

    for (int i = 0; i < batch->count; i++) {
        const struct message *message = &batch->messages[i];
        struct kafka_topic *topic;

        if (!order_is_in_wave(batch, message, sink))
            continue;
        topic = kafka_topic_find(kafka, message->destination);
        if (topic != NULL && kafka_is_unknown(topic->refusal) && clock_left_ms(deadline_ms) > 0)
            create(kafka, topic, deadline_ms);
    }
}

int kafka_topics_learn(struct kafka *kafka, const struct batch *batch, int sink)
{
    int64_t now_ms = clock_now_ms();
    struct text last = {NULL, 0};
    struct kafka_topic *only;
    int due = 0;

    for (int i = 0; i < batch->count; i++) {
        const struct message *message = &batch->messages[i];
        struct kafka_topic *topic;

        if (!order_is_in_wave(batch, message, sink))
            continue;
        topic = kafka_topic_use(kafka, message->destination);
        if (topic == NULL || topic->ask_again_at_ms > now_ms ||
            text_equal(message->destination, last))
            continue;
        last = message->destination;
        due++;
    }
    if (due == 0)
        return 0;
    /* Looked up by name, because the table may have been emptied, and its handles destroyed,
     * meanwhile. */
    only = due == 1 ? kafka_topic_find(kafka, last) : NULL;
    /* At most half of the time is used here, so that a slow cluster has time left for
     * publishing. */
    if (kafka_topics_ask(kafka, only != NULL ? only->handle : NULL,
                         clock_left_ms(kafka->send_deadline_ms) / 2) < 0)
        return -1;
    return 0;
}
