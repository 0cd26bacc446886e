/*
 * What is remembered of a topic (positions.c) beside what its metadata says: whether it is missing
 * or has fewer partitions, and the floors of its partitions.
 */

#include "broker/kafka/kafka.h"

#include "base/clock.h"

/* A broker that has just started may not know its topics yet. */
#define MISSING_MS 15000

struct seen_place kafka_place(const struct kafka *kafka, const struct kafka_topic *topic,
                              int32_t partition)
{
    return (struct seen_place){
        kafka->base.options->name, {topic->name, topic->name_len}, partition};
}

/* Other lanes may have raised what is remembered while messages are in flight. */
void kafka_floors_read(const struct kafka *kafka, struct kafka_topic *topic)
{
    if (kafka->base.seen == NULL || kafka->enqueued > kafka->acked + kafka->failed)
        return;
    for (int i = 0; topic->partitions != NULL && i < topic->partition_count; i++) {
        struct seen_place place = kafka_place(kafka, topic, i);

        topic->partitions[i].floor = seen_floor(kafka->base.seen, &place);
        topic->partitions[i].acked = topic->partitions[i].floor;
    }
}

void kafka_floors_note(struct kafka *kafka, struct kafka_topic *topic,
                       const struct rd_kafka_metadata_topic *answer)
{
    struct seen_place place = kafka_place(kafka, topic, SEEN_WHOLE);
    int32_t partitions = seen_partitions(kafka->base.seen, place.sink, place.destination);
    int64_t now_ms = clock_now_ms();

    if (!kafka_is_unknown(answer->err) || partitions == 0)
        topic->unknown_since_ms = 0;
    else if (topic->unknown_since_ms == 0)
        topic->unknown_since_ms = now_ms;
    else if (now_ms - topic->unknown_since_ms >= MISSING_MS)
        seen_lost(kafka->base.seen, &place, "the topic does not exist any more");
    kafka->looks_soon = kafka->looks_soon || topic->unknown_since_ms != 0;
    if (answer->err == RD_KAFKA_RESP_ERR_NO_ERROR && answer->partition_cnt > 0 &&
        answer->partition_cnt < partitions)
        seen_lost(kafka->base.seen, &place, "the topic was made anew: it has fewer partitions");
}

void kafka_floors_made(struct kafka *kafka, const char *name)
{
    const struct seen_place place = {kafka->base.options->name, text_of(name), SEEN_WHOLE};

    seen_lost(kafka->base.seen, &place,
              "the topic did not exist any more, and this relay has made it anew");
}
