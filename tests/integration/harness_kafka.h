#ifndef INTEGRATION_HARNESS_KAFKA_H
#define INTEGRATION_HARNESS_KAFKA_H

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stddef.h>
#include <stdint.h>

/* A Kafka cluster as a test sees it: the real one at $TEST_KAFKA_BROKERS through a client of the
 * test's own, and librdkafka's mock cluster in this process. Every function fails the test. */

#define CONSUMED_MAX 1024

extern rd_kafka_t *reader; /* consumer and admin client of the real cluster */
extern rd_kafka_message_t *consumed[CONSUMED_MAX];
extern int consumed_count;
extern char topic[64]; /* the test's own */
extern rd_kafka_mock_cluster_t *mock;

/* The group's fixture. */
int kafka_open_reader(void **state);
int kafka_close_reader(void **state);

rd_kafka_t *open_client(rd_kafka_type_t type, const char *brokers);

/* max_bytes: the topic's max.message.bytes, or NULL. */
rd_kafka_resp_err_t request_topic(const char *name, int partitions, const char *max_bytes);
rd_kafka_resp_err_t request_topic_with(const char *name, int partitions, const char *setting,
                                       const char *value);
void delete_topic(const char *name);
/* Waits until the broker answers with this error for the topic. */
void await_topic_error(const char *name, rd_kafka_resp_err_t code);
/* Raises the number of partitions of `topic` to this. */
void grow_topic(int partitions);
/* An ACL for clients without a login, as all are here. */
void add_acl(const char *name, rd_kafka_AclOperation_t operation,
             rd_kafka_AclPermissionType_t permission);
void remove_acls(const char *name);
/* Creates `topic` and waits until every partition has a leader. */
void create_topic_with(int partitions, const char *setting, const char *value);
void create_topic(int partitions, const char *max_bytes);
int64_t stored(int partitions);

/* All partitions of `topic` from their beginning, until so many messages have come. */
void consume(int partitions, int expected);
const rd_kafka_message_t *consumed_value(const char *value);
void assert_header(const rd_kafka_message_t *message, size_t at, const char *name,
                   const char *expected);
void forget_consumed(void);

/* Sets the next answers of the mock to Produce requests. */
void inject(int count, rd_kafka_resp_err_t code);

#endif
