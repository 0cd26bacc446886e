#include "integration/nats_fixture.h"

/*
 * Two sinks that share one batch, as a lane uses them: send to the first, send to the second, then
 * await both. While the second is sent to, the first one's refusals arrive.
 */

#define ROUNDS 40
#define NOWHERE SINK
#define SOMEWHERE (SINK + 1)

static struct broker *second;
static char payloads[BATCH][64];

static int open_second(void **state)
{
    if (setup(state) != 0)
        return -1;
    second = broker_open(&options, NULL, &error);
    return second == NULL ? -1 : broker_ready(second, &error);
}

static int close_second(void **state)
{
    broker_close(second);
    return teardown(state);
}

ONCE(NULL, close_library)

FIXTURE(open_second, close_second)

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
        message->destination = format(sink == NOWHERE ? "nowhere" : subject_of("x"), round, i);
        message->event_id = format("id", round, i);
        message->route_key = format("key", round, i);
        message->type = format("type", round, i);
        (void)snprintf(payloads[i], sizeof payloads[i], "payload-%d-%d", round, i);
        set_payload(message, payloads[i], strlen(payloads[i]));
    }
}

static void publish_to_both(void)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    broker_send(broker, &batch, NOWHERE, clock_now_ms() + QUICK_MS);
    broker_send(second, &batch, SOMEWHERE, clock_now_ms() + QUICK_MS);
    if (broker_await(broker, &batch, NOWHERE, deadline_ms, &error) < 0 ||
        broker_await(second, &batch, SOMEWHERE, deadline_ms, &error) < 0)
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

TEST(refusals_of_one_sink_do_not_reach_the_messages_of_another)
{
    uint64_t sequence = 0;

    for (int round = 0; round < ROUNDS; round++) {
        fill(round);
        publish_to_both();
        assert_verdicts();
        for (int i = BATCH / 2; i < BATCH; i++) {
            natsMsg *found = read_back(++sequence);

            assert_stored(found, &batch.messages[i]);
            natsMsg_Destroy(found);
        }
    }
}
