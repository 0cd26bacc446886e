/*
 * Which topics exist, as far as this client has asked.
 *
 * Purpose: librdkafka lets a message for a topic that it does not know wait for seconds before it
 * fails, and the whole batch would wait with it. So the first use of a topic asks the broker, for
 * all new topics of a batch in one request, and an unknown topic is known as such before anything
 * is produced. A "no" is believed for a second, a "yes" until a delivery report says otherwise.
 *
 * The table is bounded: when it is full it is emptied, which costs one more question a topic.
 */

#include "broker/kafka.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

#define ASK_TIMEOUT_MS 2000
#define ASK_AGAIN_MS 1000
#define CREATE_TIMEOUT_MS 2000
#define SETTLE_POLL_MS 20

/* FNV-1a (Fowler, Noll, Vo). */
static uint32_t hash(struct text name)
{
    uint32_t value = 2166136261u;

    for (size_t i = 0; i < name.len; i++)
        value = (value ^ (unsigned char)name.data[i]) * 16777619u;
    return value;
}

/* Where the name stands, or the free slot where it would. */
static struct kafka_topic *slot_of(struct kafka *kafka, struct text name)
{
    size_t at = hash(name) % KAFKA_TOPIC_SLOTS;

    for (;; at = (at + 1) % KAFKA_TOPIC_SLOTS) {
        struct kafka_topic *topic = &kafka->topics[at];

        if (topic->name == NULL ||
            (topic->name_len == name.len && memcmp(topic->name, name.data, name.len) == 0))
            return topic;
    }
}

struct kafka_topic *kafka_topic_find(struct kafka *kafka, struct text name)
{
    struct kafka_topic *topic = slot_of(kafka, name);

    return topic->name != NULL ? topic : NULL;
}

void kafka_topics_empty(struct kafka *kafka)
{
    for (size_t i = 0; kafka->topic_count > 0 && i < KAFKA_TOPIC_SLOTS; i++) {
        struct kafka_topic *topic = &kafka->topics[i];

        if (topic->name == NULL)
            continue;
        rd_kafka_topic_destroy(topic->handle);
        free(topic->name);
        *topic = (struct kafka_topic){0};
        kafka->topic_count--;
    }
}

/* NULL when the library or memory refuses it: its messages wait for the next batch. */
static struct kafka_topic *add(struct kafka *kafka, struct text name)
{
    struct kafka_topic added = {.name_len = name.len, .refusal = RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC};
    struct kafka_topic *slot;

    if (kafka->topic_count == KAFKA_TOPICS_MAX)
        kafka_topics_empty(kafka);
    added.name = strndup(name.data, name.len);
    if (added.name == NULL)
        return NULL;
    added.handle = rd_kafka_topic_new(kafka->client, added.name, NULL);
    if (added.handle == NULL) {
        free(added.name);
        return NULL;
    }
    slot = slot_of(kafka, name);
    *slot = added;
    kafka->topic_count++;
    return slot;
}

void kafka_topic_doubt(struct kafka *kafka, const char *name)
{
    struct kafka_topic *topic = kafka_topic_find(kafka, text_of(name));

    if (topic == NULL)
        return;
    topic->refusal = RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
    topic->ask_again_ms = clock_now_ms() + ASK_AGAIN_MS;
}

static void note_answer(struct kafka *kafka, const struct rd_kafka_metadata_topic *answer)
{
    struct kafka_topic *topic = kafka_topic_find(kafka, text_of(answer->topic));

    if (topic == NULL)
        return;
    topic->refusal = answer->err;
    if (answer->err == RD_KAFKA_RESP_ERR_NO_ERROR && answer->partition_cnt == 0)
        topic->refusal = RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
    topic->ask_again_ms = clock_now_ms() + ASK_AGAIN_MS;
}

/* About one topic, or about all in the table: librdkafka has no request for a list. */
static int ask(struct kafka *kafka, rd_kafka_topic_t *only, int timeout_ms)
{
    const struct rd_kafka_metadata *metadata;

    if (rd_kafka_metadata(kafka->client, 0, only, &metadata, timeout_ms) !=
        RD_KAFKA_RESP_ERR_NO_ERROR)
        return -1;
    for (int i = 0; i < metadata->topic_cnt; i++)
        note_answer(kafka, &metadata->topics[i]);
    rd_kafka_metadata_destroy(metadata);
    return 0;
}

static bool is_unknown(const struct kafka_topic *topic)
{
    return topic->refusal == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
           topic->refusal == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
}

/* A created topic takes the cluster a moment to announce. */
static void create(struct kafka *kafka, struct kafka_topic *topic, int64_t deadline_ms)
{
    struct error error;

    if (kafka_topic_create(kafka, topic->name, clock_left_ms(deadline_ms), &error) < 0) {
        log_warn("%s", error.text);
        return;
    }
    while (ask(kafka, topic->handle, clock_left_ms(deadline_ms)) == 0 && is_unknown(topic) &&
           clock_left_ms(deadline_ms) > 0)
        (void)rd_kafka_poll(kafka->client, SETTLE_POLL_MS);
}

static void create_unknown(struct kafka *kafka, const struct batch *batch, int sink)
{
    int64_t deadline_ms = clock_now_ms() + CREATE_TIMEOUT_MS;

    for (int i = 0; i < batch->count; i++) {
        const struct message *message = &batch->messages[i];
        struct kafka_topic *topic;

        if (message->verdict != VERDICT_PENDING || message->sink != sink)
            continue;
        topic = kafka_topic_find(kafka, message->destination);
        if (topic != NULL && is_unknown(topic) && clock_left_ms(deadline_ms) > 0)
            create(kafka, topic, deadline_ms);
    }
}

static bool is_due(const struct kafka_topic *topic, int64_t now_ms)
{
    return topic->refusal != RD_KAFKA_RESP_ERR_NO_ERROR && topic->ask_again_ms <= now_ms;
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

        if (message->verdict != VERDICT_PENDING || message->sink != sink)
            continue;
        topic = kafka_topic_find(kafka, message->destination);
        if (topic == NULL)
            topic = add(kafka, message->destination);
        if (topic == NULL || !is_due(topic, now_ms) || text_equal(message->destination, last))
            continue;
        last = message->destination;
        due++;
    }
    if (due == 0)
        return 0;
    /* By name: the table may have been emptied since, and its handles with it. */
    only = due == 1 ? kafka_topic_find(kafka, last) : NULL;
    if (ask(kafka, only != NULL ? only->handle : NULL, ASK_TIMEOUT_MS) < 0)
        return -1;
    if (kafka->base.options->create)
        create_unknown(kafka, batch, sink);
    return 0;
}
