#include "base/clock.h"
#include "broker/broker.h"
#include "unit/broker/fixture.h"

#include <nats/nats.h>
#include <unistd.h>

/*
 * Two sinks that share one batch, as a lane uses them: send to the first, send to the second, then
 * await both. While the second is sent to, the first one's refusals arrive. Needs TEST_NATS_URL.
 */

#define WAIT_MS 10000
#define BATCH 500
#define ROUNDS 40
#define NOWHERE 0
#define SOMEWHERE 1

static natsConnection *connection;
static jsCtx *context;
static struct sink_options options[2];
static struct broker *brokers[2];
static struct batch batch;
static struct error error;
static char stream[32];
static char payloads[BATCH][64];

static char *server_url(void)
{
    char *url = getenv("TEST_NATS_URL");

    if (url == NULL)
        fail_msg("TEST_NATS_URL is not set: run this through tests/support/services");
    return url;
}

static void add_stream(void)
{
    const char *subjects[] = {"sinks.some.>"};
    jsStreamConfig config;

    (void)snprintf(stream, sizeof stream, "SINKS-%d", (int)getpid());
    (void)jsStreamConfig_Init(&config);
    config.Name = stream;
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    assert_int_equal(natsConnection_ConnectTo(&connection, server_url()), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&context, connection, NULL), NATS_OK);
    assert_int_equal(js_AddStream(NULL, context, &config, NULL, NULL), NATS_OK);
}

static int setup(void **state)
{
    (void)state;
    add_stream();
    for (int i = 0; i < 2; i++) {
        options[i] = sink_of_type("nats");
        options[i].servers = (struct text_list){.items = {server_url()}, .count = 1};
        options[i].stream = stream;
        brokers[i] = broker_open(&options[i], &error);
        assert_non_null(brokers[i]);
        assert_int_equal(broker_ready(brokers[i], &error), 0);
    }
    return batch_init(&batch, BATCH);
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        broker_close(brokers[i]);
    batch_free(&batch);
    (void)js_DeleteStream(context, stream, NULL, NULL);
    jsCtx_Destroy(context);
    natsConnection_Destroy(connection);
    return 0;
}

FIXTURE(setup, teardown)

static struct text format(const char *name, int round, int i)
{
    char text[64];

    (void)snprintf(text, sizeof text, "%s-%d-%d", name, round, i);
    return batch_copy(&batch, text, strlen(text));
}

/* The first half for the sink that finds no stream, the second for the one that does. */
static void fill(int round)
{
    batch_reset(&batch);
    for (int i = 0; i < BATCH; i++) {
        int sink = i < BATCH / 2 ? NOWHERE : SOMEWHERE;
        struct message *message = batch_add(&batch);

        assert_non_null(message);
        message->sink = sink;
        message->destination = format(sink == NOWHERE ? "sinks.no" : "sinks.some.x", round, i);
        message->event_id = format("id", round, i);
        message->route_key = format("key", round, i);
        message->type = format("type", round, i);
        (void)snprintf(payloads[i], sizeof payloads[i], "payload-%d-%d", round, i);
        set_payload(message, payloads[i], strlen(payloads[i]));
    }
}

static void publish(void)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    for (int i = 0; i < 2; i++)
        broker_send(brokers[i], &batch, i, clock_now_ms() + 5000);
    for (int i = 0; i < 2; i++)
        if (broker_await(brokers[i], &batch, i, deadline_ms, &error) < 0)
            fail_msg("%s", error.text);
}

static void assert_verdicts(void)
{
    for (int i = 0; i < BATCH / 2; i++) {
        const struct message *refused = &batch.messages[i];

        assert_refused(refused, VERDICT_WAIT, "has no subject that matches");
        assert_refused(refused, VERDICT_WAIT, refused->destination.data);
        assert_int_equal(batch.messages[BATCH / 2 + i].verdict, VERDICT_SENT);
    }
}

static void assert_header(natsMsg *found, const char *name, struct text expected)
{
    const char *value = NULL;

    assert_int_equal(natsMsgHeader_Get(found, name, &value), NATS_OK);
    assert_string_equal(value, expected.data);
}

static void assert_stored(natsMsg *found, const struct message *message)
{
    assert_string_equal(natsMsg_GetSubject(found), message->destination.data);
    assert_header(found, "id", message->event_id);
    assert_header(found, "Nats-Msg-Id", message->event_id);
    assert_header(found, "key", message->route_key);
    assert_header(found, "type", message->type);
    assert_int_equal(natsMsg_GetDataLength(found), message->payload.len);
    assert_memory_equal(natsMsg_GetData(found), message->payload.data, message->payload.len);
}

static void assert_all_stored(natsSubscription *subscription)
{
    for (int i = BATCH / 2; i < BATCH; i++) {
        natsMsg *found = NULL;

        assert_int_equal(natsSubscription_NextMsg(&found, subscription, WAIT_MS), NATS_OK);
        assert_stored(found, &batch.messages[i]);
        natsMsg_Destroy(found);
    }
}

TEST(refusals_of_one_sink_do_not_reach_the_messages_of_another)
{
    natsSubscription *subscription = NULL;
    jsSubOptions in_order;

    (void)jsSubOptions_Init(&in_order);
    in_order.Ordered = true;
    assert_int_equal(
        js_SubscribeSync(&subscription, context, "sinks.some.>", NULL, &in_order, NULL), NATS_OK);
    for (int round = 0; round < ROUNDS; round++) {
        fill(round);
        publish();
        assert_verdicts();
        assert_all_stored(subscription);
    }
    natsSubscription_Destroy(subscription);
}

static int end_clients(void **state)
{
    (void)state;
    broker_end();
    return 0;
}

ONCE(NULL, end_clients)
