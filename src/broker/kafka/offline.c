/*
 * Partitions that acknowledge nothing although the cluster answers: they have no leader, or fewer
 * replicas in sync than min.insync.replicas, or a broken log folder.
 *
 * A partition is offline once a message for it was not acknowledged within the publish timeout.
 * From then on its messages wait (VERDICT_WAIT) without being produced, and those of other
 * partitions are sent at full rate. While any partition is offline, metadata is requested every
 * second (topics.c), and other partitions need no timeout of their own:
 *   - one without a leader is offline at once, until it has one;
 *   - so is one that has no more replicas in sync than an offline one of its topic;
 *   - any other that lacks replicas is awaited briefly, as a trial is.
 * But when another broker leads a silent partition in the meantime, only its leader has failed: its
 * messages are sent again at once (silence.c).
 *
 * A message for an offline partition is produced as a trial when the metadata shows more replicas
 * in sync, or when the next trial is due. Its acknowledgement is awaited for TRIAL_MS at first.
 * Failed trials take at most a twentieth of the lane's time. One acknowledgement ends the state,
 * and so does another leader.
 *
 * A slow partition, because of a quota or of a slow replica, is kept apart: when others have waited
 * for it LATE_TWICE in a row, the rows of the outbox wait for it as for an offline one, and only
 * parked rows are sent to it, together. One quick acknowledgement ends that, or a minute without
 * any.
 *
 * librdkafka repeats what such a partition refuses and reports nothing before the time is over.
 * That is why the time decides and not the error code.
 */

#include "broker/kafka/kafka.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIAL_MS 500
#define TRIAL_SHARE 64    /* a trial may last this fraction of the time that the trouble lasts */
#define TRIAL_INTERVAL 20 /* from trial to trial, in lengths of a trial */
#define NO_LEADER (-1)
#define NOT_KNOWN (-2)
#define LATE_TWICE 2
#define SLOW_FORGET_MS 60000
#define WAIT_MAX_MS 5000 /* until the row asks again, which usually costs no more than a claim */

typedef int32_t partitioner(const rd_kafka_topic_t *topic, const void *key, size_t key_len,
                            int32_t count, void *topic_opaque, void *message_opaque);

static const struct {
    const char *name;      /* as in librdkafka's property "partitioner" */
    partitioner *function; /* NULL: any partition */
    bool spreads_missing;  /* messages without a key may go to any partition */
    bool spreads_empty;    /* those with an empty key, too */
} partitioners[] = {
    {"murmur2_random", rd_kafka_msg_partitioner_murmur2, true, false},
    {"murmur2", rd_kafka_msg_partitioner_murmur2, false, false},
    {"consistent_random", rd_kafka_msg_partitioner_consistent, true, true},
    {"consistent", rd_kafka_msg_partitioner_consistent, false, false},
    {"fnv1a_random", rd_kafka_msg_partitioner_fnv1a, true, false},
    {"fnv1a", rd_kafka_msg_partitioner_fnv1a, false, false},
    {"random", NULL, true, true},
};

int kafka_partitioner_find(const char *name)
{
    int count = sizeof partitioners / sizeof *partitioners;
    int at = 0;

    while (at < count - 1 && strcmp(partitioners[at].name, name) != 0)
        at++;
    return at;
}

/* ---- what is known of a topic's partitions ---- */

/* NULL: there is no such partition. */
struct kafka_partition *kafka_partition_find(const struct kafka_topic *topic, int32_t number)
{
    if (topic == NULL || topic->partitions == NULL || number < 0 ||
        number >= topic->partition_count)
        return NULL;
    return &topic->partitions[number];
}

static void mark_offline(struct kafka *kafka, struct kafka_partition *partition)
{
    if (!partition->offline && kafka->offline_count++ == 0)
        kafka->offline_since_ms = clock_now_ms();
    partition->offline = true;
    partition->is_back = false;
    partition->leader_then = partition->leader;
    partition->in_sync_then = partition->in_sync;
}

static void mark_online(struct kafka *kafka, struct kafka_partition *partition)
{
    kafka->offline_count -= partition->offline;
    partition->offline = false;
    partition->is_inferred = false;
    partition->is_back = false;
}

static void set_late(struct kafka *kafka, struct kafka_partition *partition, int times)
{
    kafka->late_count += (times > 0) - (partition->late > 0);
    partition->late = times;
    partition->late_at_ms = times > 0 ? clock_now_ms() : 0;
}

/* A partition to which nothing is sent any more cannot show that it is quick again. */
static bool is_slow(const struct kafka_partition *partition)
{
    return partition->late >= LATE_TWICE &&
           clock_left_ms(partition->late_at_ms + SLOW_FORGET_MS) > 0;
}

static bool lacks_replicas(const struct kafka_partition *partition)
{
    return partition->in_sync < partition->replicas;
}

/* The most replicas in sync with which a partition of the topic acknowledged nothing. Where a
 * leader has gone since then, it was the leader that did not acknowledge. */
static int too_few_in_sync(const struct kafka_topic *topic)
{
    int most = -1;

    for (int i = 0; i < topic->partition_count; i++) {
        const struct kafka_partition *partition = &topic->partitions[i];

        if (partition->offline && !partition->is_inferred && partition->leader_then >= 0 &&
            partition->leader_then == partition->leader &&
            partition->in_sync_then < partition->replicas && partition->in_sync_then > most)
            most = partition->in_sync_then;
    }
    return most;
}

static void infer(struct kafka *kafka, struct kafka_topic *topic)
{
    int too_few = too_few_in_sync(topic);

    for (int i = 0; i < topic->partition_count; i++) {
        struct kafka_partition *partition = &topic->partitions[i];

        if (!partition->offline && (partition->leader == NO_LEADER ||
                                    (lacks_replicas(partition) && partition->in_sync <= too_few))) {
            mark_offline(kafka, partition);
            partition->is_inferred = true;
        } else if (partition->is_inferred && partition->leader != NO_LEADER &&
                   (!lacks_replicas(partition) || partition->in_sync > too_few)) {
            mark_online(kafka, partition);
        }
    }
}

void kafka_partitions_forget(struct kafka *kafka, struct kafka_topic *topic)
{
    for (int i = 0; topic->partitions != NULL && i < topic->partition_count; i++) {
        mark_online(kafka, &topic->partitions[i]);
        set_late(kafka, &topic->partitions[i], 0);
    }
    free(topic->partitions);
    topic->partitions = NULL;
}

static struct kafka_partition *new_partitions(int count)
{
    struct kafka_partition *partitions = calloc((size_t)count, sizeof *partitions);

    for (int i = 0; partitions != NULL && i < count; i++) {
        partitions[i].leader_sent = NOT_KNOWN;
        partitions[i].floor = SEEN_NOTHING;
        partitions[i].acked = SEEN_NOTHING;
    }
    return partitions;
}

/* When memory is short, nothing is known of the topic's partitions. */
void kafka_partitions_note(struct kafka *kafka, struct kafka_topic *topic,
                           const struct rd_kafka_metadata_topic *answer)
{
    if (topic->partition_count != answer->partition_cnt)
        kafka_partitions_forget(kafka, topic);
    topic->partition_count = answer->partition_cnt;
    if (topic->partitions == NULL)
        topic->partitions = new_partitions(answer->partition_cnt);
    if (topic->partitions == NULL)
        return;
    for (int i = 0; i < answer->partition_cnt; i++) {
        const struct rd_kafka_metadata_partition *now = &answer->partitions[i];
        struct kafka_partition *partition = kafka_partition_find(topic, now->id);

        if (partition == NULL)
            continue;
        partition->leader = now->leader;
        partition->in_sync = now->isr_cnt;
        partition->replicas = now->replica_cnt;
        if (partition->leader_then == NOT_KNOWN) {
            partition->leader_then = now->leader;
            partition->in_sync_then = now->isr_cnt;
        }
        if (partition->offline && partition->leader >= 0 &&
            partition->leader != partition->leader_then)
            mark_online(kafka, partition);
    }
    if (kafka->offline_count > 0)
        infer(kafka, topic);
}

/* ---- before a message is produced ---- */

int32_t kafka_partition_of(const struct kafka *kafka, const struct kafka_topic *topic,
                           const struct message *message)
{
    struct text key = message->route_key;
    int at = kafka->partitioner;

    if (partitioners[at].function == NULL ||
        (key.data == NULL && partitioners[at].spreads_missing) ||
        (key.len == 0 && partitioners[at].spreads_empty))
        return KAFKA_ANY_PARTITION;
    return partitioners[at].function(topic->handle, key.data, key.len, topic->partition_count, NULL,
                                     NULL);
}

static int64_t trial_ms(const struct kafka *kafka)
{
    int64_t ms = TRIAL_MS + (clock_now_ms() - kafka->offline_since_ms) / TRIAL_SHARE;
    int64_t max_ms = kafka->base.options->publish_timeout_ms;

    return ms < max_ms ? ms : max_ms;
}

/* While another partition is offline for its lack of replicas, one that lacks some may be, too,
 * until it has acknowledged a message with so many. */
static bool is_doubtful(const struct kafka *kafka, const struct kafka_partition *partition)
{
    return kafka->offline_count > 0 && lacks_replicas(partition) &&
           (partition->proven_in_sync == 0 || partition->in_sync < partition->proven_in_sync) &&
           !is_slow(partition);
}

static bool may_be_tried(const struct kafka *kafka, const struct kafka_partition *partition)
{
    if (partition->leader == NO_LEADER)
        return false;
    return partition->is_back || partition->in_sync > partition->in_sync_then ||
           clock_left_ms(kafka->try_offline_at_ms) == 0;
}

/* For a message that may go to any partition: one that is neither offline nor slow, each in turn,
 * or the first when all are. One message of a batch is the trial of an offline partition. */
static int32_t choose_good(struct kafka *kafka, const struct kafka_topic *topic)
{
    for (int i = 0; i < topic->partition_count; i++) {
        int32_t number = (int32_t)(kafka->spread++ % (unsigned)topic->partition_count);
        const struct kafka_partition *partition = &topic->partitions[number];

        if (partition->offline ? kafka->trials == 0 && may_be_tried(kafka, partition)
                               : !is_slow(partition))
            return number;
    }
    return 0;
}

/* Of the last connection error, if it is about this broker: librdkafka names it HOST:PORT/NUMBER.
 */
static const char *trouble_of(const struct kafka *kafka, int broker)
{
    char name[24];

    (void)snprintf(name, sizeof name, "/%d: ", broker);
    return strstr(kafka->trouble, name) != NULL ? kafka->trouble : "";
}

static void wait_for(struct kafka *kafka, struct message *message, int32_t number,
                     const struct kafka_partition *partition)
{
    int len = (int)message->destination.len;
    const char *name = message->destination.data;
    const char *trouble = trouble_of(kafka, partition->leader);

    message->partition = number;
    message->wait_max_ms = WAIT_MAX_MS;
    if (!partition->offline)
        batch_refuse(kafka->batch, message, VERDICT_WAIT,
                     "topic \"%.*s\": partition %d acknowledges slowly", len, name, (int)number);
    else if (partition->leader == NO_LEADER)
        batch_refuse(kafka->batch, message, VERDICT_WAIT,
                     "topic \"%.*s\": partition %d has no leader", len, name, (int)number);
    else if (lacks_replicas(partition))
        batch_refuse(kafka->batch, message, VERDICT_WAIT,
                     "topic \"%.*s\": partition %d acknowledges nothing: %d of %d replicas are in "
                     "sync (min.insync.replicas)",
                     len, name, (int)number, partition->in_sync, partition->replicas);
    else
        batch_refuse(kafka->batch, message, VERDICT_WAIT,
                     "topic \"%.*s\": partition %d acknowledges nothing%s%s", len, name,
                     (int)number, trouble[0] != '\0' ? ", and the relay cannot reach " : "",
                     trouble);
}

enum kafka_way kafka_choose_partition(struct kafka *kafka, const struct kafka_topic *topic,
                                      struct message *message, int32_t *chosen)
{
    int32_t number = kafka_partition_of(kafka, topic, message);
    const struct kafka_partition *partition;

    if (topic->partitions == NULL)
        return KAFKA_PRODUCE;
    if (number == KAFKA_ANY_PARTITION) {
        number = choose_good(kafka, topic);
        *chosen = number;
    }
    partition = kafka_partition_find(topic, number);
    if (partition == NULL)
        return KAFKA_PRODUCE;
    if (is_slow(partition) && !partition->offline && !kafka->batch->parked) {
        wait_for(kafka, message, number, partition);
        return KAFKA_HOLD;
    }
    if (!partition->offline)
        return is_doubtful(kafka, partition) ? KAFKA_TRY : KAFKA_PRODUCE;
    if (may_be_tried(kafka, partition))
        return KAFKA_TRY;
    wait_for(kafka, message, number, partition);
    return KAFKA_HOLD;
}

/* ---- trials, and what follows from them ---- */

void kafka_trial_begin(struct kafka *kafka)
{
    if (kafka->trials++ == 0)
        kafka->trials_end_ms = clock_now_ms() + trial_ms(kafka);
}

void kafka_trial_end(struct kafka *kafka, const struct kafka_topic *topic, int32_t number,
                     bool acknowledged)
{
    struct kafka_partition *partition = kafka_partition_find(topic, number);

    if (partition == NULL || (!partition->offline && !is_doubtful(kafka, partition)))
        return;
    kafka->trials--;
    partition->is_back |= acknowledged;
}

void kafka_note_ack(struct kafka *kafka, const struct kafka_topic *topic, int32_t number)
{
    struct kafka_partition *partition = kafka_partition_find(topic, number);

    if (partition == NULL)
        return;
    partition->is_late_now |= kafka->is_late;
    if (!kafka->is_late)
        set_late(kafka, partition, 0);
}

/* What makes one partition slow does so to those of its topic that have the same leader. */
static void infer_slow(struct kafka *kafka, struct kafka_topic *topic)
{
    for (int i = 0; i < topic->partition_count; i++) {
        const struct kafka_partition *slow = &topic->partitions[i];

        for (int j = 0; slow->is_late_now && is_slow(slow) && j < topic->partition_count; j++)
            if (topic->partitions[j].leader == slow->leader)
                set_late(kafka, &topic->partitions[j], LATE_TWICE);
    }
}

void kafka_conclude_late(struct kafka *kafka)
{
    bool others_waited = 2 * kafka->acked_in_time >= kafka->acked - kafka->acked_before;

    for (int i = 0; i < KAFKA_TOPIC_SLOTS; i++) {
        struct kafka_topic *topic = &kafka->topics[i];

        if (topic->partitions == NULL)
            continue;
        for (int j = 0; j < topic->partition_count; j++)
            if (topic->partitions[j].is_late_now && others_waited)
                set_late(kafka, &topic->partitions[j], topic->partitions[j].late + 1);
        infer_slow(kafka, topic);
        for (int j = 0; j < topic->partition_count; j++)
            topic->partitions[j].is_late_now = false;
    }
}

void kafka_trials_settle(struct kafka *kafka)
{
    for (int i = 0; kafka->offline_count > 0 && i < KAFKA_TOPIC_SLOTS; i++) {
        const struct kafka_topic *topic = &kafka->topics[i];

        for (int j = 0; topic->partitions != NULL && j < topic->partition_count; j++)
            if (topic->partitions[j].is_back) {
                topic->partitions[j].proven_in_sync = topic->partitions[j].in_sync;
                mark_online(kafka, &topic->partitions[j]);
            }
    }
}

/* ---- leaders that have gone ---- */

/* A partition that was added since the messages were sent has no leader to compare with. */
static bool differs(const struct kafka_partition *partition)
{
    return partition->leader_sent != NOT_KNOWN && partition->leader != partition->leader_sent;
}

static void keep_leaders(struct kafka *kafka, bool compares)
{
    for (int i = 0; i < KAFKA_TOPIC_SLOTS; i++) {
        struct kafka_topic *topic = &kafka->topics[i];

        for (int j = 0; topic->partitions != NULL && j < topic->partition_count; j++) {
            struct kafka_partition *partition = &topic->partitions[j];

            partition->moved_before = compares && differs(partition);
            partition->leader_sent = partition->leader;
        }
    }
}

void kafka_remember_leaders(struct kafka *kafka)
{
    if (kafka->looks++ == 0)
        keep_leaders(kafka, false);
}

void kafka_compare_leaders(struct kafka *kafka)
{
    keep_leaders(kafka, true);
}

bool kafka_partition_has_moved(const struct kafka_topic *topic, int32_t number, bool waited)
{
    const struct kafka_partition *partition = kafka_partition_find(topic, number);

    return partition != NULL && (differs(partition) || partition->leader == NO_LEADER ||
                                 (waited && partition->moved_before));
}

bool kafka_has_waited(const struct kafka *kafka)
{
    return clock_now_ms() - kafka->sent_at_ms >= kafka->base.options->publish_timeout_ms / 2;
}

void kafka_silence_begin(struct kafka *kafka)
{
    kafka_remember_leaders(kafka);
    for (int i = 0; i < kafka->silent_count; i++) {
        const struct kafka_silent *silent = &kafka->silent[i];
        struct kafka_partition *partition = kafka_partition_find(silent->topic, silent->partition);

        if (partition == NULL)
            continue;
        mark_offline(kafka, partition);
        partition->is_inferred = false;     /* it has acknowledged nothing itself */
        partition->leader_then = NOT_KNOWN; /* until the cluster answers */
    }
}

void kafka_silence_end(struct kafka *kafka, bool answered)
{
    bool is_early = kafka->leader_gone && !kafka_has_waited(kafka);

    for (int i = 0; i < kafka->silent_count; i++) {
        const struct kafka_silent *silent = &kafka->silent[i];
        struct kafka_partition *partition = kafka_partition_find(silent->topic, silent->partition);

        if (partition != NULL && answered && partition->leader >= 0 &&
            (is_early || differs(partition) || partition->moved_before))
            mark_online(kafka, partition); /* the next batch sends it again */
        else if (partition != NULL && answered)
            wait_for(kafka, silent->message, silent->partition, partition);
        else if (partition != NULL)
            mark_online(kafka, partition);
    }
    kafka_trials_settle(kafka);
    kafka->try_offline_at_ms = clock_now_ms() + TRIAL_INTERVAL * trial_ms(kafka);
}
