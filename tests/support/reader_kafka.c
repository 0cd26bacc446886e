/*
 * The reader's Kafka half, on librdkafka's simple consumer: partitions are started by hand, no
 * consumer group is joined, no offset is stored. Only committed messages are read.
 */

#include "reader.h"

#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FETCH_MESSAGES = 2000, ANSWER_MS = 10000 };

struct partition {
    int64_t end; /* the offset behind the last message to read */
    bool done;
};

struct topic {
    rd_kafka_topic_t *handle;
    struct partition *partitions;
    int partition_count;
};

struct kafka_reader {
    const struct options *options;
    rd_kafka_t *client;
    rd_kafka_queue_t *queue;
    struct topic *topics;
    int topic_count;
    int open_partitions;
    int64_t deadline_ms;
};

/* ---- the client --------------------------------------------------------------------------- */

static void configure(rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char error[512];

    if (rd_kafka_conf_set(conf, name, value, error, sizeof error) != RD_KAFKA_CONF_OK)
        die("%s", error);
}

static rd_kafka_t *open_client(const char *brokers)
{
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();

    configure(conf, "bootstrap.servers", brokers);
    configure(conf, "isolation.level", "read_committed");
    configure(conf, "enable.partition.eof", "true");
    configure(conf, "check.crcs", "true");
    configure(conf, "auto.offset.reset", "error");
    configure(conf, "reconnect.backoff.max.ms", "500");
    /* A broker that is down is said once, by the deadline, not by the client's log. */
    configure(conf, "log_level", "2");
    rd_kafka_t *client = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof error);
    if (!client)
        die("%s", error);
    return client;
}

static bool all_have_leaders(const rd_kafka_metadata_topic_t *topic)
{
    if (topic->err || topic->partition_cnt == 0)
        return false;
    for (int i = 0; i < topic->partition_cnt; i++) {
        if (topic->partitions[i].err || topic->partitions[i].leader < 0)
            return false;
    }
    return true;
}

/* The topic's number of partitions once all of them have leaders; 0 at the deadline. */
static int await_topic(rd_kafka_t *client, rd_kafka_topic_t *topic, int64_t deadline_ms)
{
    const struct rd_kafka_metadata *metadata;

    for (; now_ms() < deadline_ms; pause_ms(50)) {
        if (rd_kafka_metadata(client, 0, topic, &metadata, 1000) != RD_KAFKA_RESP_ERR_NO_ERROR)
            continue;
        int count = all_have_leaders(&metadata->topics[0]) ? metadata->topics[0].partition_cnt : 0;
        bool unknown = metadata->topics[0].err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
        rd_kafka_metadata_destroy(metadata);
        if (count)
            return count;
        if (unknown)
            pause_ms(200);
    }
    return 0;
}

/* ---- the partitions ----------------------------------------------------------------------- */

static bool transient(rd_kafka_resp_err_t err)
{
    return err == RD_KAFKA_RESP_ERR__TRANSPORT || err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
           err == RD_KAFKA_RESP_ERR__RESOLVE || err == RD_KAFKA_RESP_ERR__TIMED_OUT ||
           err == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION ||
           err == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ||
           /* await_topic() has seen them; another broker may not know them yet */
           err == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC || err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
           err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
}

/* A broker learns of its leadership a moment after the metadata tells of it. */
static void query_range(rd_kafka_t *client, const char *topic, int32_t number, int64_t deadline_ms,
                        int64_t *low, int64_t *high)
{
    rd_kafka_resp_err_t err;

    while ((err = rd_kafka_query_watermark_offsets(client, topic, number, low, high, ANSWER_MS))) {
        if (!transient(err) || now_ms() >= deadline_ms)
            die("%s, partition %d: %s", topic, number, rd_kafka_err2str(err));
        pause_ms(50);
    }
    if (*low > 0)
        fprintf(stderr, "reader: %s, partition %d begins at offset %lld: older messages are gone\n",
                topic, number, (long long)*low);
}

static void start_partition(struct kafka_reader *reader, struct topic *topic, int32_t number)
{
    struct partition *partition = &topic->partitions[number];
    int64_t low;

    query_range(reader->client, rd_kafka_topic_name(topic->handle), number, reader->deadline_ms,
                &low, &partition->end);
    partition->done = partition->end <= low;
    if (partition->done)
        return;
    if (rd_kafka_consume_start_queue(topic->handle, number, low, reader->queue) != 0)
        die("%s, partition %d: %s", rd_kafka_topic_name(topic->handle), number,
            rd_kafka_err2str(rd_kafka_last_error()));
    reader->open_partitions++;
}

static void start_topic(struct kafka_reader *reader, struct topic *topic, const char *name)
{
    rd_kafka_topic_conf_t *conf = rd_kafka_topic_conf_new();

    rd_kafka_topic_conf_set_opaque(conf, topic);
    topic->handle = rd_kafka_topic_new(reader->client, name, conf);
    topic->partition_count = await_topic(reader->client, topic->handle, reader->deadline_ms);
    if (topic->partition_count == 0)
        die("topic %s: does not exist, or has no leader", name);
    topic->partitions = calloc((size_t)topic->partition_count, sizeof *topic->partitions);
    if (!topic->partitions)
        die("out of memory");
    for (int32_t number = 0; number < topic->partition_count; number++)
        start_partition(reader, topic, number);
}

static void stop_topic(struct topic *topic)
{
    for (int32_t number = 0; number < topic->partition_count; number++)
        rd_kafka_consume_stop(topic->handle, number);
    rd_kafka_topic_destroy(topic->handle);
    free(topic->partitions);
}

/* ---- reading ------------------------------------------------------------------------------ */

static void add_headers(struct message *message, const rd_kafka_message_t *received)
{
    rd_kafka_headers_t *headers;
    const char *name;
    const void *value;
    size_t size;

    if (rd_kafka_message_headers(received, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return;
    for (size_t i = 0; !rd_kafka_header_get_all(headers, i, &name, &value, &size); i++)
        message_header(message, name, (struct field){value, size});
}

static void emit(const struct options *options, const rd_kafka_message_t *received)
{
    struct message message;

    message_begin(&message);
    message.destination = rd_kafka_topic_name(received->rkt);
    message.partition = received->partition;
    message.position = received->offset;
    message.stored_ms = rd_kafka_message_timestamp(received, NULL);
    message.key = (struct field){received->key, received->key_len};
    message.payload = (struct field){received->payload, received->len};
    add_headers(&message, received);
    message_emit(options, &message);
}

/* The end of a partition is known from its last message, or, where that was a transaction's
 * marker, from the broker's word that there is no more. */
static void take(struct kafka_reader *reader, const rd_kafka_message_t *received)
{
    struct topic *topic = rd_kafka_topic_opaque(received->rkt);
    struct partition *partition = &topic->partitions[received->partition];
    bool at_end = received->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;

    if (received->err && !at_end) {
        if (transient(received->err))
            return;
        die("%s, partition %d: %s", rd_kafka_topic_name(received->rkt), received->partition,
            rd_kafka_message_errstr(received));
    }
    if (partition->done)
        return;
    if (!at_end && received->offset < partition->end) {
        emit(reader->options, received);
        reader->deadline_ms = deadline_from_now();
    }
    if (received->offset >= partition->end - (at_end ? 0 : 1)) {
        partition->done = true;
        reader->open_partitions--;
    }
}

static bool read_partitions(struct kafka_reader *reader)
{
    static rd_kafka_message_t *batch[FETCH_MESSAGES];

    while (reader->open_partitions > 0 && now_ms() < reader->deadline_ms) {
        ssize_t count = rd_kafka_consume_batch_queue(reader->queue, 100, batch, FETCH_MESSAGES);
        for (ssize_t i = 0; i < count; i++) {
            if (batch[i]->rkt)
                take(reader, batch[i]);
            rd_kafka_message_destroy(batch[i]);
        }
    }
    return reader->open_partitions == 0;
}

int verb_kafka(const struct options *options)
{
    struct kafka_reader reader = {.options = options, .deadline_ms = deadline_from_now()};

    reader.client = open_client(options->operands[0]);
    reader.queue = rd_kafka_queue_new(reader.client);
    reader.topic_count = options->operand_count - 1;
    reader.topics = calloc((size_t)reader.topic_count, sizeof *reader.topics);
    if (!reader.topics)
        die("out of memory");
    for (int i = 0; i < reader.topic_count; i++)
        start_topic(&reader, &reader.topics[i], options->operands[i + 1]);

    bool complete = read_partitions(&reader);
    output_finish(options);
    if (!complete)
        die("gave up after %d s without a message", PATIENCE_S);
    for (int i = 0; i < reader.topic_count; i++)
        stop_topic(&reader.topics[i]);
    free(reader.topics);
    rd_kafka_queue_destroy(reader.queue);
    rd_kafka_destroy(reader.client);
    return 0;
}

/* ---- the small verbs ---------------------------------------------------------------------- */

static int64_t count_offsets(rd_kafka_t *client, const char *name, int64_t deadline_ms)
{
    rd_kafka_topic_t *topic = rd_kafka_topic_new(client, name, NULL);
    int partitions = await_topic(client, topic, deadline_ms);
    int64_t low, high, sum = 0;

    if (partitions == 0)
        die("topic %s: does not exist, or has no leader", name);
    for (int32_t number = 0; number < partitions; number++) {
        query_range(client, name, number, deadline_ms, &low, &high);
        sum += high - low;
    }
    rd_kafka_topic_destroy(topic);
    return sum;
}

int verb_kafka_end(const struct options *options)
{
    rd_kafka_t *client = open_client(options->operands[0]);
    int64_t deadline_ms = deadline_from_now(), sum = 0;

    for (int i = 1; i < options->operand_count; i++)
        sum += count_offsets(client, options->operands[i], deadline_ms);
    printf("%lld\n", (long long)sum);
    rd_kafka_destroy(client);
    return 0;
}

/* The result of a request about one topic: the error of the request, else the one of the topic. */
static rd_kafka_resp_err_t read_result(rd_kafka_event_t *event, char *text, size_t text_size)
{
    const rd_kafka_topic_result_t **results;
    size_t count;

    if (rd_kafka_event_error(event)) {
        (void)snprintf(text, text_size, "%s", rd_kafka_event_error_string(event));
        return rd_kafka_event_error(event);
    }
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_CREATETOPICS_RESULT)
        results =
            rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
    else
        results =
            rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event), &count);
    if (rd_kafka_topic_result_error(results[0]))
        (void)snprintf(text, text_size, "topic %s: %s", rd_kafka_topic_result_name(results[0]),
                       rd_kafka_topic_result_error_string(results[0]));
    return rd_kafka_topic_result_error(results[0]);
}

static void apply_setting(rd_kafka_NewTopic_t *topic, char *setting)
{
    char *value = strchr(setting, '=');

    if (!value)
        die("--setting %s: not NAME=VALUE", setting);
    *value = '\0';
    rd_kafka_NewTopic_set_config(topic, setting, value + 1);
    *value = '=';
}

/* Creates the topic, or deletes it if `partitions` is 0. */
static void submit(rd_kafka_t *client, const struct options *options, const char *name,
                   long partitions, rd_kafka_queue_t *queue)
{
    char error[512];

    if (partitions == 0) {
        rd_kafka_DeleteTopic_t *topic = rd_kafka_DeleteTopic_new(name);

        rd_kafka_DeleteTopics(client, &topic, 1, NULL, queue);
        rd_kafka_DeleteTopic_destroy(topic);
        return;
    }
    rd_kafka_NewTopic_t *topic =
        rd_kafka_NewTopic_new(name, (int)partitions, (int)options->replicas, error, sizeof error);
    if (!topic)
        die("topic %s: %s", name, error);
    if (options->setting)
        apply_setting(topic, options->setting);
    rd_kafka_CreateTopics(client, &topic, 1, NULL, queue);
    rd_kafka_NewTopic_destroy(topic);
}

/* A request whose answer was lost is sent again until the deadline: then the topic may exist, or be
 * gone, already. */
static void request_topic(rd_kafka_t *client, const struct options *options, const char *name,
                          long partitions, int64_t deadline_ms)
{
    rd_kafka_resp_err_t done = partitions ? RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS
                                          : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR__TIMED_OUT;
    char text[512] = "no answer";
    bool lost = false;

    for (;; pause_ms(100)) {
        rd_kafka_queue_t *queue = rd_kafka_queue_new(client);

        submit(client, options, name, partitions, queue);
        rd_kafka_event_t *event = rd_kafka_queue_poll(queue, ANSWER_MS);
        if (event) {
            err = read_result(event, text, sizeof text);
            rd_kafka_event_destroy(event);
        }
        rd_kafka_queue_destroy(queue);
        if (!err || (lost && err == done))
            return;
        bool again = err == RD_KAFKA_RESP_ERR__TRANSPORT || err == RD_KAFKA_RESP_ERR__TIMED_OUT ||
                     err == RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT;
        if (!again || now_ms() >= deadline_ms)
            die("%s", text);
        lost = true;
    }
}

static void create_topic(rd_kafka_t *client, const struct options *options, const char *name,
                         long partitions, int64_t deadline_ms)
{
    if (partitions < 1)
        die("topics create %s: no partitions", name);
    request_topic(client, options, name, partitions, deadline_ms);
    count_offsets(client, name, deadline_ms); /* answers only where the leaders do */
}

/* One line a partition: its number, its leader and how many replicas are in sync. */
static void show_topic(rd_kafka_t *client, const char *name, int64_t deadline_ms)
{
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(client, name, NULL);
    rd_kafka_resp_err_t err;

    while ((err = rd_kafka_metadata(client, 0, topic, &metadata, ANSWER_MS)) != 0 &&
           transient(err) && now_ms() < deadline_ms)
        pause_ms(100);
    if (err)
        die("topic %s: %s", name, rd_kafka_err2str(err));
    for (int i = 0; i < metadata->topics[0].partition_cnt; i++) {
        const rd_kafka_metadata_partition_t *partition = &metadata->topics[0].partitions[i];

        printf("%d\t%d\t%d\n", partition->id, partition->leader, partition->isr_cnt);
    }
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_destroy(topic);
}

int verb_topics(const struct options *options)
{
    rd_kafka_t *client = open_client(options->operands[0]);
    int64_t deadline_ms = deadline_from_now();
    char **names = options->operands + 2;
    int count = options->operand_count - 2;

    if (strcmp(options->operands[1], "create") == 0) {
        if (count % 2 != 0)
            die("topics create: NAME PARTITIONS, in pairs");
        for (int i = 0; i < count; i += 2)
            create_topic(client, options, names[i], parse_number(names[i + 1], "partitions"),
                         deadline_ms);
    } else if (strcmp(options->operands[1], "delete") == 0) {
        for (int i = 0; i < count; i++)
            request_topic(client, options, names[i], 0, deadline_ms);
    } else if (strcmp(options->operands[1], "show") == 0) {
        show_topic(client, names[0], deadline_ms);
    } else {
        die("topics: create, delete or show, not %s", options->operands[1]);
    }
    rd_kafka_destroy(client);
    return 0;
}
