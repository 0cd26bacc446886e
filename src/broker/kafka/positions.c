/*
 * Notices that the cluster has lost what it acknowledged (broker/seen.h): it was wiped or restored,
 * a topic was deleted, a replica that lagged became the leader.
 *
 * Each acknowledgement names an offset, which must lie above those that were acknowledged before
 * the message was sent; else it proves nothing, the message is sent again by another client, and
 * the loss is said. What happens while a relay is idle, paused or not running is found by a check
 * of the ends of all partitions: after each connection to the cluster, and every CHECK_MS.
 *
 * Records that an administrator or the retention deletes leave the end where it is.
 *
 * A new topic of the same name that others have filled beyond the remembered offsets meanwhile is
 * not noticed: librdkafka 2.0 does not know the ids of topics.
 */

#include "broker/kafka/kafka.h"

#include "base/clock.h"

#include <string.h>

#define CHECK_MS 30000
#define CHECK_AGAIN_MS 1000 /* each lane reconnects */
#define ENDS_MS 1000
#define UNKNOWN_ENDS_MAX 5 /* then a leader is away, and each look would hold the lane up */

/* ---- acknowledgements ---- */

bool kafka_position_is_new(struct kafka *kafka, struct message *message,
                           const rd_kafka_message_t *report)
{
    struct kafka_topic *topic =
        kafka->base.seen != NULL ? kafka_topic_find(kafka, message->destination) : NULL;
    struct kafka_partition *partition = kafka_partition_find(topic, report->partition);
    struct seen_place place;

    if (partition == NULL || report->offset < 0)
        return true;
    if (report->offset > (kafka->in_chunks ? partition->acked : partition->floor)) {
        if (partition->acked == partition->floor)
            kafka->raised[kafka->raised_count++] = message;
        if (report->offset > partition->acked)
            partition->acked = report->offset;
        return true;
    }
    kafka_positions_keep(kafka);
    place = kafka_place(kafka, topic, report->partition);
    (void)seen_acknowledged(kafka->base.seen, &place, partition->floor, report->offset);
    return false;
}

void kafka_positions_keep(struct kafka *kafka)
{
    for (int i = 0; i < kafka->raised_count; i++) {
        struct kafka_topic *topic = kafka_topic_find(kafka, kafka->raised[i]->destination);
        struct kafka_partition *partition =
            kafka_partition_find(topic, kafka->raised[i]->partition);
        struct seen_place place;

        if (partition == NULL)
            continue;
        place = kafka_place(kafka, topic, kafka->raised[i]->partition);
        (void)seen_acknowledged(kafka->base.seen, &place, SEEN_NOTHING, partition->acked);
        partition->floor = partition->acked;
    }
    kafka->raised_count = 0;
}

/* ---- the check ---- */

static void add_topic(void *closure, const struct seen_memory *memory)
{
    struct kafka *kafka = closure;

    if (memory->position != SEEN_NOTHING && kafka->topic_count < KAFKA_TOPICS_MAX &&
        strcmp(memory->place.sink, kafka->base.options->name) == 0)
        (void)kafka_topic_use(kafka, memory->place.destination);
}

static void add_partitions(const struct kafka_topic *topic, rd_kafka_topic_partition_list_t *ends)
{
    for (int i = 0; i < topic->partition_count; i++)
        if (topic->partitions[i].floor != SEEN_NOTHING && topic->partitions[i].leader >= 0)
            rd_kafka_topic_partition_list_add(ends, topic->name, i)->offset = RD_KAFKA_OFFSET_END;
}

static bool compare_end(struct kafka *kafka, const rd_kafka_topic_partition_t *end)
{
    struct kafka_topic *topic = kafka_topic_find(kafka, text_of(end->topic));
    const struct kafka_partition *partition = kafka_partition_find(topic, end->partition);
    struct seen_place place;

    if (partition == NULL || end->err != RD_KAFKA_RESP_ERR_NO_ERROR || end->offset < 0)
        return false;
    place = kafka_place(kafka, topic, end->partition);
    if (!seen_end(kafka->base.seen, &place, partition->floor, end->offset - 1))
        kafka_floors_read(kafka, topic);
    return true;
}

static void compare_ends(struct kafka *kafka)
{
    rd_kafka_topic_partition_list_t *ends = rd_kafka_topic_partition_list_new(KAFKA_TOPICS_MAX);
    bool is_known = true;

    for (int i = 0; i < KAFKA_TOPIC_SLOTS; i++)
        if (kafka->topics[i].refusal == RD_KAFKA_RESP_ERR_NO_ERROR &&
            kafka->topics[i].partitions != NULL)
            add_partitions(&kafka->topics[i], ends);
    if (ends->cnt > 0)
        is_known =
            rd_kafka_offsets_for_times(kafka->client, ends, ENDS_MS) == RD_KAFKA_RESP_ERR_NO_ERROR;
    for (int i = 0; i < ends->cnt; i++)
        is_known = compare_end(kafka, &ends->elems[i]) && is_known;
    kafka->unknown_ends = is_known ? 0 : kafka->unknown_ends + 1;
    if (!is_known && kafka->unknown_ends < UNKNOWN_ENDS_MAX)
        kafka->looks_soon = true;
    rd_kafka_topic_partition_list_destroy(ends);
}

/* The client knows the id from the metadata that it has had. */
static void compare_cluster(struct kafka *kafka)
{
    const struct seen_place cluster = {kafka->base.options->name, {NULL, 0}, SEEN_WHOLE};
    char *id = rd_kafka_clusterid(kafka->client, 0);

    if (id != NULL)
        seen_identify(kafka->base.seen, &cluster, id);
    rd_kafka_mem_free(kafka->client, id);
}

void kafka_positions_check(struct kafka *kafka, bool is_new_connection)
{
    bool is_soon = is_new_connection || kafka->looks_soon;

    if (!seen_check_is_due(kafka->base.seen, kafka->base.options->name,
                           is_soon ? CHECK_AGAIN_MS : CHECK_MS))
        return;
    kafka->looks_soon = false;
    compare_cluster(kafka);
    seen_each(kafka->base.seen, false, add_topic, kafka);
    if (kafka->topic_count == 0)
        return;
    if (kafka_topics_ask(kafka, NULL, KAFKA_ASK_MS) == 0)
        compare_ends(kafka);
    else
        kafka->looks_soon = true;
}
