#include "broker/kafka/kafka.h"
#include "test.h"

#include <librdkafka/rdkafka.h>

#include <stdio.h>

/* Each error code that a producer can meet, by its number in Kafka's protocol or in librdkafka, so
 * that the table is compared with something other than itself. */

static void assert_class(enum kafka_class class, const int *codes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (kafka_class_of(codes[i]) != class)
            fail_msg("%d (%s) is of class %d, not %d", codes[i], rd_kafka_err2name(codes[i]),
                     (int)kafka_class_of(codes[i]), (int)class);
}

#define ASSERT_CLASS(class, ...)                                                                   \
    assert_class((class), (const int[]){__VA_ARGS__},                                              \
                 sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

TEST(only_no_error_is_an_acknowledgement)
{
    for (int code = -300; code <= 300; code++)
        assert_int_equal(kafka_class_of(code) == KAFKA_ACKNOWLEDGED, code == 0);
}

TEST(a_full_queue_is_backpressure)
{
    ASSERT_CLASS(KAFKA_BACKPRESSURE, -184);
}

TEST(errors_about_a_record_reject_the_record)
{
    /* MSG_SIZE_TOO_LARGE, INVALID_TOPIC_EXCEPTION, RECORD_LIST_TOO_LARGE, INVALID_RECORD,
     * _INVALID_ARG */
    ASSERT_CLASS(KAFKA_POISON, 10, 17, 18, 87, -186);
}

TEST(a_record_beside_an_invalid_one_is_not_rejected)
{
    ASSERT_CLASS(KAFKA_NEIGHBOUR, -138); /* _INVALID_DIFFERENT_RECORD */
}

TEST(errors_about_a_topic_let_its_messages_wait)
{
    /* UNKNOWN_TOPIC_OR_PART, TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED,
     * POLICY_VIOLATION, _UNKNOWN_TOPIC, _UNKNOWN_PARTITION */
    ASSERT_CLASS(KAFKA_DESTINATION_DOWN, 3, 29, 31, 44, -188, -190);
    /* INVALID_TIMESTAMP, UNSUPPORTED_FOR_MESSAGE_FORMAT, UNSUPPORTED_COMPRESSION_TYPE,
     * _UNSUPPORTED_FEATURE */
    ASSERT_CLASS(KAFKA_DESTINATION_DOWN, 32, 43, 76, -165);
}

TEST(errors_about_the_connection_reject_no_message)
{
    /* _AUTHENTICATION, SASL_AUTHENTICATION_FAILED, UNSUPPORTED_SASL_MECHANISM,
     * ILLEGAL_SASL_STATE, _SSL */
    ASSERT_CLASS(KAFKA_BROKER_DOWN, -169, 58, 33, 34, -181);
    /* _TIMED_OUT_QUEUE, _TRANSPORT, _RESOLVE, _ALL_BROKERS_DOWN, _DESTROY */
    ASSERT_CLASS(KAFKA_BROKER_DOWN, -166, -195, -193, -187, -197);
}

TEST(errors_about_the_cluster_reject_no_message)
{
    /* BROKER_NOT_AVAILABLE, NETWORK_EXCEPTION, the three of the coordinator,
     * THROTTLING_QUOTA_EXCEEDED */
    ASSERT_CLASS(KAFKA_BROKER_DOWN, 8, 13, 14, 15, 16, 89);
}

TEST(errors_about_a_partition_and_silence_reject_no_message)
{
    /* LEADER_NOT_AVAILABLE, NOT_LEADER, REQUEST_TIMED_OUT, REPLICA_NOT_AVAILABLE,
     * NOT_ENOUGH_REPLICAS, the same after append, KAFKA_STORAGE_ERROR */
    ASSERT_CLASS(KAFKA_PARTITION_DOWN, 5, 6, 7, 9, 19, 20, 56);
    /* _MSG_TIMED_OUT, _TIMED_OUT, _PURGE_QUEUE */
    ASSERT_CLASS(KAFKA_PARTITION_DOWN, -192, -185, -152);
}

TEST(a_purge_in_flight_may_have_been_stored)
{
    ASSERT_CLASS(KAFKA_MAYBE_STORED, -151);
}

TEST(errors_that_end_a_producer_are_fatal)
{
    /* _FATAL, _FENCED, _GAPLESS_GUARANTEE, _STATE, OUT_OF_ORDER_SEQUENCE_NUMBER,
     * INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING, UNKNOWN_PRODUCER_ID, PRODUCER_FENCED */
    ASSERT_CLASS(KAFKA_FATAL, -150, -144, -148, -172, 45, 47, 49, 59, 90);
}

TEST(any_other_code_is_unknown)
{
    /* UNKNOWN, CORRUPT_MESSAGE, and numbers that nobody has given yet */
    ASSERT_CLASS(KAFKA_UNKNOWN_ERROR, -1, 2, 9999, -9999, INT16_MAX, INT16_MIN);
}
