#ifndef INTEGRATION_PUBLISHING_KAFKA_H
#define INTEGRATION_PUBLISHING_KAFKA_H

#include "broker/broker.h"
#include "integration/harness_kafka.h"
#include "integration/harness_services.h"
#include "integration/publishing.h"

#include <unistd.h>

/* The fixtures of the tests of the Kafka client: a broker object on the real cluster, opened by the
 * test itself, or on a mock cluster. Each test has a topic of its own. */

#define BATCH 500
#define READY_MS 5000 /* what broker_ready() promises */

static int number;
static rd_kafka_t *mock_owner;
static int mock_brokers = 1;

const char *harness_env(const char *name); /* harness.h does not go with unit/broker/fixture.h */

static inline int setup_brokers(const char *brokers)
{
    number++;
    (void)snprintf(topic, sizeof topic, "t%d.%d", (int)getpid(), number);
    options = sink_of_type("kafka");
    options.brokers = (struct text_list){.items = {(char *)(uintptr_t)brokers}, .count = 1};
    return batch_init(&batch, BATCH);
}

static inline void open_broker(void)
{
    broker = broker_open(&options, NULL, &error);
    assert_non_null(broker);
    if (broker_ready(broker, &error) < 0)
        fail_msg("%s", error.text);
}

static inline int setup(void **state)
{
    (void)state;
    return setup_brokers(harness_env("TEST_KAFKA_BROKERS"));
}

static inline int teardown(void **state)
{
    (void)state;
    services_restore();
    broker_close(broker);
    broker = NULL;
    batch_free(&batch);
    forget_consumed();
    allow_nothing_more(&options);
    return 0;
}

static inline int setup_mock(void **state)
{
    (void)state;
    mock_owner = open_client(RD_KAFKA_PRODUCER, NULL);
    mock = rd_kafka_mock_cluster_new(mock_owner, mock_brokers);
    if (mock == NULL || setup_brokers(rd_kafka_mock_cluster_bootstraps(mock)) < 0)
        return -1;
    /* Long enough for a batch to be one request: errors are injected by requests. */
    set_property(&options, "linger.ms", "100");
    if (rd_kafka_mock_topic_create(mock, topic, 1, 1) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return -1;
    open_broker();
    return 0;
}

static inline int teardown_mock(void **state)
{
    (void)teardown(state);
    rd_kafka_mock_cluster_destroy(mock);
    rd_kafka_destroy(mock_owner);
    return 0;
}

static inline void fill_batch(int count)
{
    batch_reset(&batch);
    for (int i = 0; i < count; i++) {
        char value[32];

        (void)snprintf(value, sizeof value, "m%d", i);
        (void)add_message(&batch, topic, "k", batch_copy(&batch, value, strlen(value)).data);
    }
}

#endif
