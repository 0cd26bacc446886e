/*
 * Acknowledged publishing alone, as a program does it that has nothing else to do, by the relay's
 * client libraries and with the relay's messages: the same headers, keys and payloads.
 *
 *     bench_publish nats URL STREAM SUBJECT N LANES WINDOW BYTES
 *     bench_publish kafka BROKERS TOPIC TOPIC N LANES WINDOW BYTES
 *
 * Each lane is a thread with a connection of its own, at most WINDOW messages of it unacknowledged.
 * Ends when all are acknowledged; any refusal ends it with status 1.
 */

#include "consume.h"

#include <librdkafka/rdkafka.h>
#include <nats/nats.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 10000
#define LANES_MAX 64
#define PATIENCE_MS 30000
#define CREATED_AT "2026-01-01T12:00:00.000000Z"

struct lane {
    const char *server, *name, *topic;
    int64_t first, last; /* the numbers of its messages */
    int64_t window;
    size_t bytes;
    int64_t unacknowledged;
    pthread_t thread;
};

struct parts {
    char id[40];
    char key[24];
    char *payload;
    size_t len;
};

static void start_payloads(struct parts *parts, size_t bytes)
{
    parts->len = bytes;
    parts->payload = malloc(bytes + 64);
    if (parts->payload == NULL)
        die("memory", "none left");
}

/* {"n": 17, "pad": "xxx"}, of the wanted length. */
static void make_parts(struct parts *parts, int64_t number)
{
    int head = sprintf(parts->payload, "{\"n\": %lld, \"pad\": \"", (long long)number);

    memset(parts->payload + head, 'x', parts->len - (size_t)head - 2);
    memcpy(parts->payload + parts->len - 2, "\"}", 2);
    (void)snprintf(parts->id, sizeof parts->id, "%08x-0000-4000-8000-%012llx",
                   (unsigned)number * 2654435761U, (unsigned long long)number);
    (void)snprintf(parts->key, sizeof parts->key, "k%d", (int)(number % KEYS));
}

/* ---- NATS ---- */

static void check(natsStatus status, const char *what)
{
    if (status != NATS_OK)
        die(what, natsStatus_GetText(status));
}

static void on_ack(jsCtx *js, natsMsg *message, jsPubAck *ack, jsPubAckErr *refusal, void *closure)
{
    (void)js;
    (void)closure;
    if (ack == NULL)
        die("not acknowledged",
            refusal != NULL && refusal->ErrText != NULL ? refusal->ErrText : "?");
    natsMsg_Destroy(message);
}

static natsMsg *make_message(const struct lane *lane, const struct parts *parts)
{
    natsMsg *message = NULL;

    check(natsMsg_Create(&message, lane->topic, NULL, parts->payload, (int)parts->len), "message");
    check(natsMsgHeader_Set(message, "id", parts->id), "header");
    check(natsMsgHeader_Set(message, "type", "Bench"), "header");
    check(natsMsgHeader_Set(message, "created_at", CREATED_AT), "header");
    check(natsMsgHeader_Set(message, "key", parts->key), "header");
    check(natsMsgHeader_Set(message, "Nats-Msg-Id", parts->id), "header");
    check(natsMsgHeader_Set(message, "Nats-Expected-Stream", lane->name), "header");
    return message;
}

static void *publish_nats(void *closure)
{
    struct lane *lane = closure;
    natsConnection *connection = NULL;
    jsCtx *js = NULL;
    jsOptions options;
    struct parts parts;

    start_payloads(&parts, lane->bytes);
    check(natsConnection_ConnectTo(&connection, lane->server), lane->server);
    check(jsOptions_Init(&options), "options");
    options.PublishAsync.MaxPending = lane->window;
    options.PublishAsync.StallWait = PATIENCE_MS;
    options.PublishAsync.AckHandler = on_ack;
    check(natsConnection_JetStream(&js, connection, &options), "JetStream");
    for (int64_t number = lane->first; number <= lane->last; number++) {
        natsMsg *message;

        make_parts(&parts, number);
        message = make_message(lane, &parts);
        check(js_PublishMsgAsync(js, &message, NULL), "publish");
    }
    check(js_PublishAsyncComplete(js, NULL), "acknowledgements");
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
    free(parts.payload);
    return NULL;
}

/* ---- Kafka ---- */

static void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char error[512];

    if (rd_kafka_conf_set(conf, name, value, error, sizeof error) != RD_KAFKA_CONF_OK)
        die(name, error);
}

static void on_report(rd_kafka_t *client, const rd_kafka_message_t *message, void *closure)
{
    struct lane *lane = closure;

    (void)client;
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
        die("not acknowledged", rd_kafka_err2str(message->err));
    lane->unacknowledged--;
}

static rd_kafka_t *open_producer(struct lane *lane)
{
    char error[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_t *client;

    set(conf, "bootstrap.servers", lane->server);
    set(conf, "log_level", "2"); /* what goes wrong for good is told by the reports */
    set(conf, "acks", "all");
    set(conf, "max.in.flight", "5"); /* as the relay */
    set(conf, "partitioner", "murmur2_random");
    set(conf, "message.max.bytes", "2000000");
    set(conf, "socket.nagle.disable", "true");
    set(conf, "linger.ms", lane->window <= 500 ? "1" : "5");
    rd_kafka_conf_set_dr_msg_cb(conf, on_report);
    rd_kafka_conf_set_opaque(conf, lane);
    client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof error);
    if (client == NULL)
        die("kafka", error);
    return client;
}

static void produce(struct lane *lane, rd_kafka_t *client, rd_kafka_topic_t *topic,
                    const struct parts *parts)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(3);
    const rd_kafka_vu_t values[] = {
        {.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = topic},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {(void *)parts->key, strlen(parts->key)}},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {parts->payload, parts->len}},
        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers},
    };
    rd_kafka_error_t *refused;

    (void)rd_kafka_header_add(headers, "id", 2, parts->id, -1);
    (void)rd_kafka_header_add(headers, "type", 4, "Bench", -1);
    (void)rd_kafka_header_add(headers, "created_at", 10, CREATED_AT, -1);
    while (lane->unacknowledged >= lane->window)
        (void)rd_kafka_poll(client, 100);
    refused = rd_kafka_produceva(client, values, sizeof values / sizeof *values);
    if (refused != NULL)
        die("produce", rd_kafka_error_string(refused));
    lane->unacknowledged++;
}

static void *publish_kafka(void *closure)
{
    struct lane *lane = closure;
    rd_kafka_t *client = open_producer(lane);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(client, lane->topic, NULL);
    struct parts parts;

    start_payloads(&parts, lane->bytes);
    for (int64_t number = lane->first; number <= lane->last; number++) {
        make_parts(&parts, number);
        produce(lane, client, topic, &parts);
        (void)rd_kafka_poll(client, 0);
    }
    if (rd_kafka_flush(client, PATIENCE_MS) != RD_KAFKA_RESP_ERR_NO_ERROR)
        die("flush", "not everything was acknowledged");
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(client);
    free(parts.payload);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct lane lanes[LANES_MAX];
    int64_t count = argc == 9 ? strtoll(argv[5], NULL, 10) : 0;
    int lane_count = argc == 9 ? (int)strtol(argv[6], NULL, 10) : 0;

    if (argc != 9 || lane_count < 1 || lane_count > LANES_MAX)
        die("usage", "bench_publish nats|kafka SERVER NAME TOPIC N LANES WINDOW BYTES");
    for (int i = 0; i < lane_count; i++) {
        struct lane *lane = &lanes[i];

        *lane = (struct lane){.server = argv[2], .name = argv[3], .topic = argv[4]};
        lane->first = count * i / lane_count + 1;
        lane->last = count * (i + 1) / lane_count;
        lane->window = strtoll(argv[7], NULL, 10);
        lane->bytes = strtoull(argv[8], NULL, 10);
        if (lane->bytes < 64)
            die("BYTES", "at least 64");
        if (pthread_create(&lane->thread, NULL,
                           strcmp(argv[1], "nats") == 0 ? publish_nats : publish_kafka, lane) != 0)
            die("thread", "cannot be started");
    }
    for (int i = 0; i < lane_count; i++)
        (void)pthread_join(lanes[i].thread, NULL);
    return 0;
}
