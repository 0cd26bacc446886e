/*
 * The consumer of the benchmarks: see consume.h. NATS: an ordered push consumer. Kafka: every
 * partition from its beginning, read_committed, with the library's defaults.
 */

#include "consume.h"

#include <librdkafka/rdkafka.h>
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SILENCE_MS 100
#define ANSWER_MS 10000
#define WAIT_MS 1

void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

int64_t now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t number_in(const char *payload, size_t len)
{
    const char *at = memmem(payload, len, "\"n\": ", 5);

    return at != NULL ? strtoll(at + 5, NULL, 10) : -1;
}

/* ---- NATS ---- */

static void check(natsStatus status, const char *what)
{
    if (status != NATS_OK)
        die(what,
            nats_GetLastError(NULL) != NULL ? nats_GetLastError(NULL) : natsStatus_GetText(status));
}

static struct span span_of_stream(jsCtx *js, const char *stream)
{
    jsStreamInfo *info = NULL;
    struct span span;

    check(js_GetStreamInfo(&info, js, stream, NULL, NULL), stream);
    span = (struct span){info->State.FirstTime / 1000, info->State.LastTime / 1000};
    jsStreamInfo_Destroy(info);
    return span;
}

static void listen_to(natsSubscription *subscription, struct listener *listener)
{
    bool goes_on = true;

    while (goes_on) {
        natsMsg *message = NULL;
        natsStatus status = natsSubscription_NextMsg(&message, subscription, SILENCE_MS);

        if (status == NATS_TIMEOUT) {
            goes_on = listener->on_message(listener, NULL, 0);
            continue;
        }
        check(status, "the next message");
        goes_on = listener->on_message(listener, natsMsg_GetData(message),
                                       (size_t)natsMsg_GetDataLength(message));
        natsMsg_Destroy(message);
    }
}

static struct span consume_nats(const char *url, const char *stream, struct listener *listener)
{
    natsConnection *connection = NULL;
    natsSubscription *subscription = NULL;
    jsCtx *js = NULL;
    jsSubOptions options;
    struct span span;

    check(natsConnection_ConnectTo(&connection, url), url);
    check(natsConnection_JetStream(&js, connection, NULL), "JetStream");
    check(jsSubOptions_Init(&options), "options");
    options.Stream = stream;
    options.Ordered = true;
    check(js_SubscribeSync(&subscription, js, ">", NULL, &options, NULL), stream);
    check(natsSubscription_SetPendingLimits(subscription, -1, -1), "limits");
    listen_to(subscription, listener);
    span = span_of_stream(js, stream);
    natsSubscription_Destroy(subscription);
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
    return span;
}

/* ---- Kafka ---- */

static rd_kafka_t *open_client(const char *brokers)
{
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_t *client;

    if (rd_kafka_conf_set(conf, "bootstrap.servers", brokers, error, sizeof error) !=
            RD_KAFKA_CONF_OK ||
        rd_kafka_conf_set(conf, "isolation.level", "read_committed", error, sizeof error) !=
            RD_KAFKA_CONF_OK)
        die("kafka", error);
    client = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof error);
    if (client == NULL)
        die("kafka", error);
    return client;
}

static int start_partitions(rd_kafka_t *client, rd_kafka_topic_t *topic, rd_kafka_queue_t *queue)
{
    const struct rd_kafka_metadata *metadata;
    int count;

    if (rd_kafka_metadata(client, 0, topic, &metadata, ANSWER_MS) != RD_KAFKA_RESP_ERR_NO_ERROR ||
        metadata->topic_cnt != 1)
        die(rd_kafka_topic_name(topic), "no metadata");
    count = metadata->topics[0].partition_cnt;
    rd_kafka_metadata_destroy(metadata);
    for (int i = 0; i < count; i++)
        if (rd_kafka_consume_start_queue(topic, i, RD_KAFKA_OFFSET_BEGINNING, queue) != 0)
            die(rd_kafka_topic_name(topic), rd_kafka_err2str(rd_kafka_last_error()));
    return count;
}

static void note_time(struct span *span, const rd_kafka_message_t *message)
{
    int64_t us = rd_kafka_message_timestamp(message, NULL) * 1000;

    if (span->first_us == 0 || us < span->first_us)
        span->first_us = us;
    if (us > span->last_us)
        span->last_us = us;
}

static bool hand_on(rd_kafka_message_t *message, struct span *span, struct listener *listener)
{
    bool goes_on;

    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
        die("kafka", rd_kafka_message_errstr(message));
    note_time(span, message);
    goes_on = listener->on_message(listener, message->payload, message->len);
    rd_kafka_message_destroy(message);
    return goes_on;
}

static struct span consume_kafka(const char *brokers, const char *name, struct listener *listener)
{
    rd_kafka_t *client = open_client(brokers);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(client, name, NULL);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
    struct span span = {0};
    int partitions = start_partitions(client, topic, queue);
    bool goes_on = true;

    while (goes_on) {
        rd_kafka_message_t *message = rd_kafka_consume_queue(queue, WAIT_MS);

        goes_on = message != NULL ? hand_on(message, &span, listener)
                                  : listener->on_message(listener, NULL, 0);
    }
    for (int i = 0; i < partitions; i++)
        (void)rd_kafka_consume_stop(topic, i);
    rd_kafka_queue_destroy(queue);
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(client);
    return span;
}

struct span consume(const char *sink, const char *server, const char *name,
                    struct listener *listener)
{
    if (strcmp(sink, "nats") == 0)
        return consume_nats(server, name, listener);
    return consume_kafka(server, name, listener);
}
