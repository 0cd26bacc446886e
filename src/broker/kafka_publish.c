/*
 * send and await: from pending messages to verdicts.
 *
 * Guarantee: every message that was handed to librdkafka is judged by its own delivery report, and
 * exactly one comes for each while the client lives. A report that blames the cluster blames no
 * message: it stays pending. A broker refuses whole record batches, so a refused message is only
 * suspected; it is produced once more, alone, and rejected only when it is refused alone.
 *
 * Deliberately not done: keeping the order of two messages of one key when the first is refused.
 * Whoever needs that hands over one message of a key at a time.
 */

#include "broker/kafka.h"

#include "base/clock.h"
#include "core/rules.h"

#include <stdio.h>
#include <stdlib.h>

#define POLL_MS 100
#define PURGE_TIMEOUT_MS 1000
#define HEADERS_OF_OURS 3

enum blame {
    BLAME_NOBODY,  /* acknowledged */
    BLAME_MESSAGE, /* this message, or one beside it in its record batch */
    BLAME_TOPIC,   /* its destination is not there, or not ours to write to */
    BLAME_CLUSTER, /* nothing about this message */
    BLAME_UNKNOWN  /* a code that is not in this table */
};

static enum blame blame_of(rd_kafka_resp_err_t code)
{
    switch ((int)code) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
        return BLAME_NOBODY;
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
        return BLAME_MESSAGE;
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
        return BLAME_TOPIC;
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__SSL:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__PURGE_QUEUE:
    case RD_KAFKA_RESP_ERR__PURGE_INFLIGHT:
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE:
    case RD_KAFKA_RESP_ERR__STATE:
    case RD_KAFKA_RESP_ERR__DESTROY:
    case RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER:
    case RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
    case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR:
    case RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED:
        return BLAME_CLUSTER;
    default:
        return BLAME_UNKNOWN;
    }
}

static void wait_for_topic(struct kafka *kafka, struct message *message, rd_kafka_resp_err_t code)
{
    int len = (int)message->destination.len;
    const char *name = message->destination.data;

    if (code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC || code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
        batch_refuse(kafka->batch, message, VERDICT_WAIT, "unknown topic \"%.*s\"", len, name);
    else
        batch_refuse(kafka->batch, message, VERDICT_WAIT, "topic \"%.*s\": %s", len, name,
                     rd_kafka_err2str(code));
}

static void suspect(struct kafka *kafka, struct message *message, enum blame blame,
                    const char *text)
{
    if (kafka->alone != message)
        kafka->suspects[kafka->suspect_count++] = message;
    else if (blame == BLAME_MESSAGE)
        batch_refuse(kafka->batch, message, VERDICT_REJECTED, "the broker refuses it: %s", text);
    else
        batch_refuse(kafka->batch, message, VERDICT_RETRY, "%s", text);
}

/* Runs in this lane's rd_kafka_poll. */
void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *report, void *opaque)
{
    struct kafka *kafka = opaque;
    struct message *message = report->_private;
    enum blame blame = blame_of(report->err);

    (void)client;
    kafka->outstanding--;
    switch (blame) {
    case BLAME_NOBODY:
        message->verdict = VERDICT_SENT;
        break;
    case BLAME_MESSAGE:
    case BLAME_UNKNOWN:
        /* Not rd_kafka_message_errstr: it takes the payload for a text. */
        suspect(kafka, message, blame, rd_kafka_err2str(report->err));
        break;
    case BLAME_TOPIC:
        kafka_topic_doubt(kafka, rd_kafka_topic_name(report->rkt));
        wait_for_topic(kafka, message, report->err);
        break;
    case BLAME_CLUSTER:
        kafka->unanswered++;
        break;
    }
}

static void add_header(rd_kafka_headers_t *headers, const char *name, size_t name_len,
                       struct text value)
{
    /* Fails only for arguments that the rules have excluded. */
    if (value.data != NULL)
        (void)rd_kafka_header_add(headers, name, (ssize_t)name_len, value.data, (ssize_t)value.len);
}

static rd_kafka_headers_t *make_headers(const struct message *message)
{
    rd_kafka_headers_t *headers =
        rd_kafka_headers_new((size_t)message->header_count + HEADERS_OF_OURS);

    add_header(headers, "id", 2, message->event_id);
    add_header(headers, "type", 4, message->type);
    add_header(headers, "created_at", 10, message->created_at);
    for (int i = 0; i < message->header_count; i++)
        add_header(headers, message->headers[i].name.data, message->headers[i].name.len,
                   message->headers[i].value);
    return headers;
}

static rd_kafka_resp_err_t hand_over(struct kafka *kafka, const rd_kafka_vu_t *values, size_t count)
{
    rd_kafka_error_t *refused = rd_kafka_produceva(kafka->client, values, count);
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;

    if (refused == NULL) {
        kafka->outstanding++;
        return code;
    }
    code = rd_kafka_error_code(refused);
    rd_kafka_error_destroy(refused);
    return code;
}

/* A full queue empties as reports come: the same message is tried again, none is skipped. */
static rd_kafka_resp_err_t produce(struct kafka *kafka, const struct kafka_topic *topic,
                                   struct message *message)
{
    rd_kafka_headers_t *headers = make_headers(message);
    const rd_kafka_vu_t values[] = {
        {.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = topic->handle},
        {.vtype = RD_KAFKA_VTYPE_KEY,
         .u.mem = {(void *)message->route_key.data, message->route_key.len}},
        {.vtype = RD_KAFKA_VTYPE_VALUE,
         .u.mem = {(void *)message->payload.data, message->payload.len}},
        {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = message},
        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers},
    };
    rd_kafka_resp_err_t code;

    for (;;) {
        code = hand_over(kafka, values, sizeof values / sizeof *values);
        if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL || clock_now_ms() >= kafka->send_deadline_ms)
            break;
        (void)rd_kafka_poll(kafka->client, POLL_MS);
    }
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        rd_kafka_headers_destroy(headers);
    return code;
}

/* What librdkafka says before it has sent anything. */
static void conclude_refused(struct kafka *kafka, struct message *message, rd_kafka_resp_err_t code)
{
    switch (blame_of(code)) {
    case BLAME_NOBODY:
        break;
    case BLAME_MESSAGE:
        batch_refuse(
            kafka->batch, message, VERDICT_REJECTED,
            "payload %zu bytes, with its key and headers, is refused (message.max.bytes %lld): %s",
            message->payload.len, (long long)kafka->message_bytes_max, rd_kafka_err2str(code));
        break;
    case BLAME_TOPIC:
        wait_for_topic(kafka, message, code);
        break;
    case BLAME_CLUSTER:
        kafka->broken = true;
        kafka->unanswered++;
        break;
    case BLAME_UNKNOWN:
        if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            batch_refuse(kafka->batch, message, VERDICT_RETRY, "%s", rd_kafka_err2str(code));
            break;
        }
        kafka->queue_full = true;
        kafka->unanswered++;
        break;
    }
}

static void send_message(struct kafka *kafka, struct message *message)
{
    struct kafka_topic *topic = kafka_topic_find(kafka, message->destination);

    /* The table was emptied while it was being filled: the next batch asks again. */
    if (topic == NULL)
        return;
    if (topic->refusal != RD_KAFKA_RESP_ERR_NO_ERROR)
        wait_for_topic(kafka, message, topic->refusal);
    else
        conclude_refused(kafka, message, produce(kafka, topic, message));
}

static void check_message(struct kafka *kafka, struct message *message)
{
    const char *broken = rules_kafka_topic(message->destination);
    int64_t payload_max = kafka->message_bytes_max;

    if (broken == NULL && !sink_allows(kafka->base.options, message->destination))
        broken = "the sink's allow list does not take this topic";
    if (broken == NULL)
        broken = rules_kafka_headers(message->headers, message->header_count);
    if (broken != NULL)
        batch_refuse(kafka->batch, message, VERDICT_REJECTED, "%s", broken);
    else if (message->payload_len > payload_max)
        batch_refuse(kafka->batch, message, VERDICT_REJECTED,
                     "payload %lld bytes is larger than message.max.bytes %lld",
                     (long long)message->payload_len, (long long)payload_max);
    else if (message->payload.data == NULL && message->payload_len >= 0)
        batch_refuse(kafka->batch, message, VERDICT_REJECTED,
                     "payload %lld bytes is too large to be fetched",
                     (long long)message->payload_len);
}

static bool is_ours(const struct message *message, int sink)
{
    return message->verdict == VERDICT_PENDING && message->sink == sink;
}

static int check_messages(struct kafka *kafka, int sink)
{
    int pending = 0;

    for (int i = 0; i < kafka->batch->count; i++) {
        struct message *message = &kafka->batch->messages[i];

        if (!is_ours(message, sink))
            continue;
        check_message(kafka, message);
        pending += message->verdict == VERDICT_PENDING;
    }
    return pending;
}

static int reserve_suspects(struct kafka *kafka, int capacity)
{
    struct message **grown;

    if (kafka->suspect_capacity >= capacity)
        return 0;
    grown = realloc(kafka->suspects, (size_t)capacity * sizeof(*grown));
    if (grown == NULL)
        return -1;
    kafka->suspects = grown;
    kafka->suspect_capacity = capacity;
    return 0;
}

void kafka_send(struct broker *broker, struct batch *batch, int sink)
{
    struct kafka *kafka = (struct kafka *)broker;
    int pending;

    kafka->batch = batch;
    kafka->suspect_count = 0;
    kafka->alone = NULL;
    kafka->unanswered = 0;
    kafka->queue_full = false;
    kafka->send_deadline_ms = clock_now_ms() + kafka->base.options->publish_timeout_ms;
    pending = check_messages(kafka, sink);
    if (pending == 0)
        return;
    if (kafka->client == NULL || kafka->broken || reserve_suspects(kafka, batch->count) < 0 ||
        kafka_topics_learn(kafka, batch, sink) < 0) {
        kafka->unanswered = pending;
        return;
    }
    for (int i = 0; i < batch->count; i++)
        if (is_ours(&batch->messages[i], sink))
            send_message(kafka, &batch->messages[i]);
}

/* Once even after the deadline: the reports may be waiting in the queue. */
static void poll_reports(struct kafka *kafka, int64_t deadline_ms)
{
    while (kafka->outstanding > 0 && !kafka->broken) {
        int left_ms = clock_left_ms(deadline_ms);

        (void)rd_kafka_poll(kafka->client, left_ms);
        if (left_ms == 0)
            return;
    }
}

static int compare_places(const void *a, const void *b)
{
    const struct message *const *left = a;
    const struct message *const *right = b;

    return (*left > *right) - (*left < *right);
}

/* One at a time, in the batch's order, so that each refusal is the message's own. */
static void try_suspects(struct kafka *kafka, int64_t deadline_ms)
{
    int count = kafka->suspect_count;

    qsort(kafka->suspects, (size_t)count, sizeof(*kafka->suspects), compare_places);
    for (int i = 0; i < count && !kafka->broken && clock_left_ms(deadline_ms) > 0; i++) {
        kafka->alone = kafka->suspects[i];
        send_message(kafka, kafka->alone);
        poll_reports(kafka, deadline_ms);
    }
}

/* The reports of purged messages come at once; the rest ends with the client. */
static int give_up(struct kafka *kafka, struct error *error)
{
    int64_t deadline_ms = clock_now_ms() + PURGE_TIMEOUT_MS;
    char text[128];

    kafka->suspect_count = 0;
    if (kafka->client != NULL)
        (void)rd_kafka_purge(kafka->client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    while (kafka->outstanding > 0 && clock_left_ms(deadline_ms) > 0)
        (void)rd_kafka_poll(kafka->client, clock_left_ms(deadline_ms));
    kafka->unanswered += kafka->outstanding;
    kafka_discard_client(kafka);
    (void)snprintf(text, sizeof text, "%d messages were not acknowledged%s", kafka->unanswered,
                   kafka->queue_full ? " (the client's queue is full)" : "");
    return kafka_fail(kafka, error, ERROR_TRANSIENT, text);
}

int kafka_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
                struct error *error)
{
    struct kafka *kafka = (struct kafka *)broker;

    (void)batch;
    (void)sink;
    poll_reports(kafka, deadline_ms);
    if (kafka->outstanding == 0 && kafka->suspect_count > 0)
        try_suspects(kafka, deadline_ms);
    if (kafka->outstanding > 0 || kafka->unanswered > 0 || kafka->broken)
        return give_up(kafka, error);
    kafka->batch = NULL;
    kafka->trouble[0] = '\0';
    return 0;
}
