/*
 * Reads partitions with librdkafka's consumer of single partitions, which joins no group and
 * commits nothing.
 */

#include "broker/kafka/kafka.h"

#include "base/clock.h"
#include "route/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 1000
#define HEADERS_MAX 256
#define WATERMARK_MS 5000
#define STEP_MS 500
#define OPEN_MAX 8

/* What is configured for reading. A partition whose buffer is full is asked for nothing for a
 * while: a second before librdkafka 2.2, which does not know fetch.queue.backoff.ms. */
static const char *const settings[][2] = {
    {"enable.partition.eof", "true"},
    {"check.crcs", "true"},
    {"queued.max.messages.kbytes", "16384"},
    {"queued.min.messages", "100000"},
    {"fetch.queue.backoff.ms", "10"},
    {"allow.auto.create.topics", "false"},
    {"isolation.level", "read_uncommitted"},
    {"auto.offset.reset", "earliest"}, /* of a first message that retention has just dropped */
};

struct partition {
    int topic; /* its number in the request */
    int32_t number;
    rd_kafka_topic_t *handle;
    int64_t start, end; /* offsets; the end is exclusive */
    int64_t first_ms;   /* INT64_MAX: not known, or none */
    bool is_first_read; /* start is the partition's first offset */
    bool is_done;
};

struct reading {
    struct kafka *kafka;
    const struct read_request *request;
    rd_kafka_topic_t **topics; /* one per topic of the request; NULL: it is not there */
    struct partition *partitions;
    int count, capacity;
    rd_kafka_queue_t *queue;
    int started;             /* partitions that were started */
    int open;                /* those that are being read */
    struct partition *found; /* of the last message */
    int64_t heard_at_ms;
};

static int fail(const struct reading *reading, const char *topic, const char *why,
                struct error *error)
{
    char text[KAFKA_REASON_BYTES];

    (void)snprintf(text, sizeof text, "reading topic \"%s\": %s", topic, why);
    return kafka_fail(reading->kafka, error, ERROR_TRANSIENT, text);
}

static const char *topic_of(const struct reading *reading, const struct partition *partition)
{
    return reading->request->topics[partition->topic];
}

static int open_client(struct kafka *kafka, struct error *error)
{
    rd_kafka_conf_t *conf = kafka_conf_new(kafka->base.options, true, error);
    char why[256];

    if (conf == NULL)
        return -1;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        (void)rd_kafka_conf_set(conf, settings[i][0], settings[i][1], why, sizeof why);
    return kafka_client_create(kafka, RD_KAFKA_CONSUMER, conf, error);
}

static int add_partition(struct reading *reading, int topic, int32_t number, struct error *error)
{
    const char *name = reading->request->topics[topic];
    int64_t low;
    int64_t high;
    rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(reading->kafka->client, name,
                                                                number, &low, &high, WATERMARK_MS);

    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return fail(reading, name, rd_kafka_err2str(code), error);
    if (broker_reserve(&reading->partitions, &reading->capacity, reading->count + 1,
                       sizeof(*reading->partitions)) < 0)
        return error_no_memory(error);
    reading->partitions[reading->count++] = (struct partition){.topic = topic,
                                                               .number = number,
                                                               .handle = reading->topics[topic],
                                                               .start = low,
                                                               .end = high,
                                                               .first_ms = INT64_MAX,
                                                               .is_first_read = true};
    return 0;
}

static int add_topic(struct reading *reading, int topic, struct error *error)
{
    const char *name = reading->request->topics[topic];
    const struct rd_kafka_metadata *metadata;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__TIMED_OUT;
    int status = 0;

    reading->topics[topic] = rd_kafka_topic_new(reading->kafka->client, name, NULL);
    if (reading->topics[topic] == NULL)
        return fail(reading, name, rd_kafka_err2str(rd_kafka_last_error()), error);
    metadata = kafka_ask_metadata(reading->kafka, reading->topics[topic], WATERMARK_MS, &code);
    if (metadata == NULL)
        return fail(reading, name, rd_kafka_err2str(code), error);
    code = metadata->topic_cnt == 1 ? metadata->topics[0].err
                                    : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    if (kafka_is_unknown(code)) {
        const struct held_place gone = {.topic = topic, .partition = -1, .first_ms = INT64_MAX};

        reading->request->on_place(reading->request->closure, &gone);
    } else if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        status = fail(reading, name, rd_kafka_err2str(code), error);
    } else {
        for (int i = 0; status == 0 && i < metadata->topics[0].partition_cnt; i++)
            status = add_partition(reading, topic, metadata->topics[0].partitions[i].id, error);
    }
    rd_kafka_metadata_destroy(metadata);
    return status;
}

/* Where the messages since then begin; a broker that does not say is read from the first on. */
static void move_starts(struct reading *reading)
{
    rd_kafka_topic_partition_list_t *times = rd_kafka_topic_partition_list_new(reading->count);

    for (int i = 0; i < reading->count; i++)
        rd_kafka_topic_partition_list_add(times, topic_of(reading, &reading->partitions[i]),
                                          reading->partitions[i].number)
            ->offset = reading->request->since_ms;
    if (rd_kafka_offsets_for_times(reading->kafka->client, times, WATERMARK_MS) ==
        RD_KAFKA_RESP_ERR_NO_ERROR)
        for (int i = 0; i < reading->count; i++) {
            struct partition *partition = &reading->partitions[i];
            const rd_kafka_topic_partition_t *at = &times->elems[i];
            int64_t start = at->offset >= 0 ? at->offset : partition->end;

            if (at->err != RD_KAFKA_RESP_ERR_NO_ERROR || start <= partition->start)
                continue;
            partition->start = start;
            partition->is_first_read = false;
        }
    rd_kafka_topic_partition_list_destroy(times);
}

static void move_to_last(struct reading *reading)
{
    for (int i = 0; i < reading->count; i++) {
        struct partition *partition = &reading->partitions[i];

        if (partition->end - partition->start > reading->request->last)
            partition->start = partition->end - reading->request->last;
    }
}

static void finish(struct reading *reading, struct partition *partition)
{
    partition->is_done = true;
    reading->open--;
    (void)rd_kafka_consume_stop(partition->handle, partition->number);
}

/* Each has a buffer of its own, so only some are read at a time. */
static int start_more(struct reading *reading, struct error *error)
{
    while (reading->started < reading->count && reading->open < OPEN_MAX) {
        struct partition *partition = &reading->partitions[reading->started++];

        reading->request->on_total(reading->request->closure, partition->end - partition->start);
        partition->is_done = partition->start >= partition->end;
        if (partition->is_done)
            continue;
        if (rd_kafka_consume_start_queue(partition->handle, partition->number, partition->start,
                                         reading->queue) != 0)
            return fail(reading, topic_of(reading, partition),
                        rd_kafka_err2str(rd_kafka_last_error()), error);
        reading->open++;
    }
    return 0;
}

static int read_headers(const rd_kafka_message_t *message, struct header headers[HEADERS_MAX])
{
    rd_kafka_headers_t *list;
    int count = 0;
    const char *name;
    const void *value;
    size_t len;

    if (rd_kafka_message_headers(message, &list) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return 0;
    while (count < HEADERS_MAX && rd_kafka_header_get_all(list, (size_t)count, &name, &value,
                                                          &len) == RD_KAFKA_RESP_ERR_NO_ERROR)
        headers[count++] = (struct header){text_of(name), {value, value != NULL ? len : 0}};
    return count < HEADERS_MAX ? count : -1;
}

static bool is_of(const struct partition *partition, const rd_kafka_message_t *message)
{
    return partition->handle == message->rkt && partition->number == message->partition;
}

/* Mostly the partition of the message before. */
static struct partition *find(struct reading *reading, const rd_kafka_message_t *message)
{
    if (reading->found != NULL && is_of(reading->found, message))
        return reading->found;
    for (int i = 0; i < reading->started; i++)
        if (is_of(&reading->partitions[i], message))
            return reading->found = &reading->partitions[i];
    return NULL;
}

/* What a struct held refers to. */
struct storage {
    struct header headers[HEADERS_MAX];
    char buffer[1024];
};

static struct held held_of(const struct reading *reading, const struct partition *partition,
                           const rd_kafka_message_t *message, struct storage *storage)
{
    rd_kafka_timestamp_type_t type;
    struct held held = {.topic = partition->topic,
                        .partition = partition->number,
                        .position = message->offset,
                        .time_ms = rd_kafka_message_timestamp(message, &type),
                        .destination = text_of(topic_of(reading, partition)),
                        .key = {message->key, message->key_len},
                        .payload = {message->payload, message->len},
                        .headers = storage->headers,
                        .header_count = read_headers(message, storage->headers)};

    if (held.header_count < 0)
        held.header_count = 0; /* a relay sends fewer */
    held_identify(&reading->kafka->base, &held, (struct text){NULL, 0}, storage->buffer,
                  sizeof storage->buffer);
    return held;
}

/* Only a relay's messages count: what other programs give as a time may be anything. */
static void note_first(struct partition *partition, const struct held *held)
{
    if (partition->first_ms == INT64_MAX && held->event_id.data != NULL)
        partition->first_ms = held->time_ms;
}

static int take_message(struct reading *reading, struct partition *partition,
                        const rd_kafka_message_t *message, struct error *error)
{
    struct storage storage;
    struct held held = held_of(reading, partition, message, &storage);

    note_first(partition, &held);
    return reading->request->on_message(reading->request->closure, &held, error);
}

static int take(struct reading *reading, const rd_kafka_message_t *message, struct error *error)
{
    struct partition *partition = find(reading, message);

    if (partition == NULL || partition->is_done)
        return 0;
    reading->heard_at_ms = clock_now_ms();
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        if (message->offset >= partition->end)
            finish(reading, partition);
        return 0;
    }
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
        return fail(reading, topic_of(reading, partition), rd_kafka_message_errstr(message), error);
    if (message->offset < partition->end && take_message(reading, partition, message, error) < 0)
        return -1;
    if (message->offset >= partition->end - 1)
        finish(reading, partition);
    return 0;
}

static int read_all(struct reading *reading, struct error *error)
{
    rd_kafka_message_t *messages[BATCH];
    int status = start_more(reading, error);

    reading->heard_at_ms = clock_now_ms();
    while (status == 0 && reading->open > 0) {
        ssize_t count = rd_kafka_consume_batch_queue(reading->queue, STEP_MS, messages, BATCH);

        (void)rd_kafka_poll(reading->kafka->client, 0);
        for (ssize_t i = 0; i < count; i++) {
            if (status == 0)
                status = take(reading, messages[i], error);
            rd_kafka_message_destroy(messages[i]);
        }
        if (status == 0)
            status = start_more(reading, error);
        if (status == 0 && clock_left_ms(reading->heard_at_ms + READ_SILENCE_MS) == 0)
            status = kafka_fail(reading->kafka, error, ERROR_TRANSIENT,
                                "reading: the brokers have fallen silent");
    }
    return status;
}

/* The time of the first message, when reading began later, or when that one has been dropped. It
 * stays unknown if no message of a relay comes in time. */
static void find_first_time(const struct reading *reading, struct partition *partition)
{
    int64_t deadline_ms = clock_now_ms() + WATERMARK_MS;
    rd_kafka_message_t *message;
    struct storage storage;

    partition->first_ms = INT64_MAX;
    if (rd_kafka_consume_start(partition->handle, partition->number, RD_KAFKA_OFFSET_BEGINNING) !=
        0)
        return;
    while (partition->first_ms == INT64_MAX && clock_left_ms(deadline_ms) > 0) {
        message =
            rd_kafka_consume(partition->handle, partition->number, (int)clock_left_ms(deadline_ms));
        if (message == NULL || message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
            deadline_ms = 0; /* its end, for one */
        else {
            struct held held = held_of(reading, partition, message, &storage);

            note_first(partition, &held);
        }
        if (message != NULL)
            rd_kafka_message_destroy(message);
    }
    (void)rd_kafka_consume_stop(partition->handle, partition->number);
}

/* Retention may have gone on while the partition was read. */
static int report(struct reading *reading, struct partition *partition, bool compacted,
                  struct error *error)
{
    struct held_place place = {.topic = partition->topic, .partition = partition->number};
    int64_t low;
    int64_t high;
    rd_kafka_resp_err_t code =
        rd_kafka_query_watermark_offsets(reading->kafka->client, topic_of(reading, partition),
                                         partition->number, &low, &high, WATERMARK_MS);

    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return fail(reading, topic_of(reading, partition), rd_kafka_err2str(code), error);
    place.has_dropped = low > 0;
    if (!partition->is_first_read || low > partition->start)
        find_first_time(reading, partition);
    place.first_ms = partition->first_ms;
    place.may_drop =
        compacted ? "it is compacted: of a key only the last message is sure to stay" : NULL;
    reading->request->on_place(reading->request->closure, &place);
    return 0;
}

static void stop(struct reading *reading)
{
    for (int i = 0; i < reading->started; i++)
        if (!reading->partitions[i].is_done)
            finish(reading, &reading->partitions[i]);
}

static int report_all(struct reading *reading, struct error *error)
{
    bool compacted = false;

    for (int i = 0; i < reading->count; i++) {
        struct partition *partition = &reading->partitions[i];

        if (i == 0 || partition->topic != reading->partitions[i - 1].topic)
            compacted = kafka_ask_settings(reading->kafka, topic_of(reading, partition)).compacted;
        if (report(reading, partition, compacted, error) < 0)
            return -1;
    }
    return 0;
}

static int read_topics(struct reading *reading, struct error *error)
{
    int status = 0;

    for (int i = 0; i < reading->request->topic_count && status == 0; i++)
        status = add_topic(reading, i, error);
    if (status == 0 && reading->request->since_ms > 0 && reading->count > 0)
        move_starts(reading);
    if (reading->request->last > 0)
        move_to_last(reading);
    if (status == 0)
        status = read_all(reading, error);
    stop(reading);
    return status < 0 || reading->request->last > 0 ? status : report_all(reading, error);
}

int kafka_read(struct broker *broker, const struct read_request *request, struct error *error)
{
    struct reading reading = {.kafka = (struct kafka *)broker, .request = request};
    int status;

    if (open_client(reading.kafka, error) < 0)
        return -1;
    reading.topics = calloc((size_t)request->topic_count + 1, sizeof(*reading.topics));
    reading.queue = rd_kafka_queue_new(reading.kafka->client);
    status = reading.topics != NULL ? read_topics(&reading, error) : error_no_memory(error);
    rd_kafka_queue_destroy(reading.queue);
    for (int i = 0; reading.topics != NULL && i < request->topic_count; i++)
        if (reading.topics[i] != NULL)
            rd_kafka_topic_destroy(reading.topics[i]);
    free(reading.topics);
    free(reading.partitions);
    kafka_client_end(reading.kafka);
    return status;
}
