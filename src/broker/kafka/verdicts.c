/*
 * From an error code to a verdict: one table of codes, and what each class means for a message.
 *
 *   class             the message                     the client and the sink
 *   backpressure      tried again until the deadline  no message is skipped
 *   poison            a suspect; alone: REJECTED      go on
 *   destination down  WAIT, not counted               go on; ask about the topic every second
 *   partition down    WAIT, not counted               client replaced; the partition's next
 *                                                     messages wait unproduced (offline.c); if the
 *                                                     cluster does not answer: as broker down
 *   broker down       stays pending, not counted      client destroyed; probe before a claim
 *   fatal             as broker down                  librdkafka has given the client up
 *   (any other code)  a suspect; alone: RETRY         go on
 *
 * A broker refuses whole record batches, so a refused message is only a suspect. It is produced
 * again, and gets the verdict above when it is refused alone (publish.c). Errors of the connection
 * (TLS, SASL) say nothing about a topic: the whole sink counts as away, and its rows are not
 * parked.
 */

#include "broker/kafka/kafka.h"

#include <librdkafka/rdkafka.h>

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

    {RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, KAFKA_PARTITION_DOWN},
    {RD_KAFKA_RESP_ERR__TIMED_OUT, KAFKA_PARTITION_DOWN},
    {RD_KAFKA_RESP_ERR__PURGE_QUEUE, KAFKA_PARTITION_DOWN},
    {RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, KAFKA_PARTITION_DOWN}, /* the broker may have stored it */
    {RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, KAFKA_PARTITION_DOWN},
    {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, KAFKA_PARTITION_DOWN},
    {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, KAFKA_PARTITION_DOWN},
    {RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, KAFKA_PARTITION_DOWN},
    {RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, KAFKA_PARTITION_DOWN},
    {RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE, KAFKA_PARTITION_DOWN},
    {RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, KAFKA_PARTITION_DOWN},

    {RD_KAFKA_RESP_ERR__AUTHENTICATION, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR__SSL, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR__TRANSPORT, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR__RESOLVE, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR__DESTROY, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_NOT_COORDINATOR, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION, KAFKA_BROKER_DOWN},
    {RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED, KAFKA_BROKER_DOWN},

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

bool kafka_is_unknown(int code)
{
    return code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
           code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
           code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
}
