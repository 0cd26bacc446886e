/*
 * From librdkafka's word to a verdict: one table of error codes, and what each class of them means
 * for a message.
 *
 *   class             the message                     the client and the sink
 *   backpressure      is tried again by the deadline  none is skipped
 *   poison            produced alone; REJECTED alone  go on
 *   neighbour         is produced again               go on
 *   destination down  WAIT, uncounted                 go on; its topic is asked about each second
 *   broker down       stays pending, uncounted        client destroyed; a probe before a claim
 *   maybe stored      as broker down                  counted in its error: repeats are possible
 *   fatal             as broker down                  librdkafka has given the client up
 *   (not in a table)  produced alone; RETRY alone     go on
 *
 * A broker refuses whole record batches, so a refused message is only suspected until it was alone.
 * What concerns the connection (TLS, SASL) is no word on a topic: the sink rests, not its rows.
 */

#include "broker/kafka/kafka.h"

#include <stdio.h>

/* librdkafka names it since 2.2. */
#define INVALID_DIFFERENT_RECORD (-138)

static const struct {
    int code;
    enum kafka_class class;
} table[] = {
    {RD_KAFKA_RESP_ERR_NO_ERROR, KAFKA_ACKNOWLEDGED},

    {RD_KAFKA_RESP_ERR__QUEUE_FULL, KAFKA_BACKPRESSURE},

    {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, KAFKA_POISON},
    {RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, KAFKA_POISON},
    {RD_KAFKA_RESP_ERR_INVALID_RECORD, KAFKA_POISON},
    {RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, KAFKA_POISON}, /* INVALID_TOPIC_EXCEPTION */
    {RD_KAFKA_RESP_ERR__INVALID_ARG, KAFKA_POISON},

    {INVALID_DIFFERENT_RECORD, KAFKA_NEIGHBOUR},

    {RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, KAFKA_DESTINATION_DOWN},
    {RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, KAFKA_DESTINATION_DOWN},
    {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, KAFKA_DESTINATION_DOWN},
    {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, KAFKA_DESTINATION_DOWN},
    {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, KAFKA_DESTINATION_DOWN},
    {RD_KAFKA_RESP_ERR_POLICY_VIOLATION, KAFKA_DESTINATION_DOWN},
    {RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, KAFKA_DESTINATION_DOWN}, /* the clock of this host */
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE, KAFKA_DESTINATION_DOWN},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT, KAFKA_DESTINATION_DOWN},
    {RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE, KAFKA_DESTINATION_DOWN},

    {RD_KAFKA_RESP_ERR__AUTHENTICATION, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR__SSL, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR__TIMED_OUT, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR__TRANSPORT, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR__RESOLVE, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR__PURGE_QUEUE, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR__DESTROY, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_NOT_COORDINATOR, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED, KAFKA_BROKER_DOWN},

    {RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, KAFKA_MAYBE_STORED},

    {RD_KAFKA_RESP_ERR__FATAL, KAFKA_FATAL},
    {RD_KAFKA_RESP_ERR__FENCED, KAFKA_FATAL},
    {RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE, KAFKA_FATAL},
    {RD_KAFKA_RESP_ERR__STATE, KAFKA_FATAL},
    {RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, KAFKA_FATAL},
    {RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID, KAFKA_FATAL},
    {RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, KAFKA_FATAL},
    {RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING, KAFKA_FATAL},
    {RD_KAFKA_RESP_ERR_PRODUCER_FENCED, KAFKA_FATAL},
};

enum kafka_class kafka_class_of(int code)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == code)
            return table[i].class;
    return KAFKA_UNKNOWN_ERROR;
}

/* No partition is ever named by us: one that is unknown went with its topic. */
bool kafka_is_unknown(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
           code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
           code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
}

void kafka_wait_for_topic(struct kafka *kafka, struct message *message, rd_kafka_resp_err_t code)
{
    int len = (int)message->destination.len;
    const char *name = message->destination.data;

    if (kafka_is_unknown(code))
        batch_refuse(kafka->batch, message, VERDICT_WAIT, "unknown topic \"%.*s\"", len, name);
    else
        batch_refuse(kafka->batch, message, VERDICT_WAIT, "topic \"%.*s\": %s", len, name,
                     rd_kafka_err2str(code));
}

static bool is_about_size(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
           code == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE;
}

static void suspect(struct kafka *kafka, struct message *message, enum kafka_class class,
                    const char *text)
{
    kafka_chunks_be_careful(&kafka->chunks);
    if (kafka->at_once)
        return;
    if (kafka->alone != message)
        kafka->suspects[kafka->suspect_count++] = message;
    else if (class == KAFKA_POISON)
        batch_refuse(kafka->batch, message, VERDICT_REJECTED, "the broker refuses it: %s", text);
    else
        batch_refuse(kafka->batch, message, VERDICT_RETRY, "%s", text);
}

static void judge_failed(struct kafka *kafka, struct message *message,
                         const rd_kafka_message_t *report)
{
    enum kafka_class class = kafka_class_of(report->err);

    switch (class) {
    case KAFKA_ACKNOWLEDGED:
        break;
    case KAFKA_POISON:
    case KAFKA_NEIGHBOUR:
    case KAFKA_UNKNOWN_ERROR:
        /* Not rd_kafka_message_errstr: it takes the payload for a text. */
        if (kafka->at_once && is_about_size(report->err))
            kafka->chunks.too_large++;
        else
            suspect(kafka, message, class, rd_kafka_err2str(report->err));
        break;
    case KAFKA_DESTINATION_DOWN:
        kafka_topic_doubt(kafka, message->destination, report->err);
        kafka_wait_for_topic(kafka, message, report->err);
        break;
    case KAFKA_FATAL:
        kafka->broken = true;
        kafka->unanswered++;
        break;
    case KAFKA_BACKPRESSURE:
    case KAFKA_BROKER_DOWN:
    case KAFKA_MAYBE_STORED:
        kafka->unanswered++;
        break;
    }
}

/* Runs in this lane's rd_kafka_poll. */
void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *report, void *opaque)
{
    struct kafka *kafka = ((struct kafka_link *)opaque)->kafka;
    struct message *message = report->_private;

    (void)client;
    if (report->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        kafka->acked++;
        message->verdict = VERDICT_SENT;
        return;
    }
    kafka->failed++;
    if (rd_kafka_message_status(report) == RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED)
        kafka->maybe_stored++;
    judge_failed(kafka, message, report);
}

void kafka_conclude_refused(struct kafka *kafka, struct message *message, rd_kafka_resp_err_t code)
{
    switch (kafka_class_of(code)) {
    case KAFKA_ACKNOWLEDGED:
        break;
    case KAFKA_POISON:
        batch_refuse(
            kafka->batch, message, VERDICT_REJECTED,
            "payload %zu bytes, with its key and headers, is refused (message.max.bytes %lld): %s",
            message->payload.len, (long long)kafka->message_bytes_max, rd_kafka_err2str(code));
        break;
    case KAFKA_NEIGHBOUR:
    case KAFKA_UNKNOWN_ERROR:
        batch_refuse(kafka->batch, message, VERDICT_RETRY, "%s", rd_kafka_err2str(code));
        break;
    case KAFKA_DESTINATION_DOWN:
        kafka_topic_doubt(kafka, message->destination, code);
        kafka_wait_for_topic(kafka, message, code);
        break;
    case KAFKA_BACKPRESSURE:
        kafka->queue_full = true;
        kafka->unanswered++;
        break;
    case KAFKA_BROKER_DOWN:
    case KAFKA_MAYBE_STORED:
    case KAFKA_FATAL:
        kafka->broken = true;
        kafka->unanswered++;
        break;
    }
}
