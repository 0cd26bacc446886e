/*
 * Notices that the broker that messages were sent to leads their partitions no more, before
 * publish_timeout is over. While messages are late, it is looked each second who leads.
 *
 * Deliberately not done: to take a question without an answer for a broker that hangs. A broker
 * answers the requests of a connection one after the other, so the question waits behind messages
 * whose replicas are slow.
 */

#include "broker/kafka/kafka.h"

#include "base/clock.h"

#define LOOK_FIRST_MS 2000
#define LOOK_MS 1000
#define LOOK_ASK_MS 500

static bool a_leader_has_moved(struct kafka *kafka)
{
    bool waited = kafka_has_waited(kafka);

    for (int i = 0; i < kafka->batch->count; i++) {
        const struct message *message = &kafka->batch->messages[i];
        const struct kafka_topic *topic;

        if (!message->handed || message->verdict != VERDICT_PENDING)
            continue;
        topic = kafka_topic_find(kafka, message->destination);
        if (topic != NULL && topic->handle != NULL && topic->partitions != NULL &&
            kafka_partition_has_moved(topic, kafka_partition_of(kafka, topic, message), waited))
            return true;
    }
    return false;
}

/* A leader that hangs keeps the messages in flight: librdkafka sends them to the next one only when
 * socket.timeout.ms is over. One that answers is given the time until the next look, in which
 * librdkafka sends them again by itself. A look may settle the state of a partition that is tried,
 * so trials are awaited first.
 *
 * What is known of the leaders before the first look may be minutes old, and librdkafka may have
 * sent the messages to newer ones. So later looks are compared with the first. */
bool kafka_gives_up(struct kafka *kafka)
{
    bool is_first = kafka->looks == 0;

    if (kafka->trials > 0)
        return false;
    if (kafka->looks == 0 && clock_left_ms(kafka->sent_at_ms + LOOK_FIRST_MS) > 0)
        return false;
    if (kafka->looks > 0 && clock_left_ms(kafka->look_at_ms) > 0)
        return false;
    if (kafka->looks > 0 && a_leader_has_moved(kafka)) {
        kafka->leader_gone = true;
        return true;
    }
    kafka_remember_leaders(kafka);
    if (kafka_topics_ask(kafka, NULL, LOOK_ASK_MS) == 0 && is_first)
        kafka_compare_leaders(kafka);
    kafka->look_at_ms = clock_now_ms() + LOOK_MS;
    return false;
}
