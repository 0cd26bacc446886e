#include "broker/nats/nats.h"
#include "integration/nats_fixture.h"

ONCE(NULL, close_library)

FIXTURE(setup, teardown)

/*
 * Acknowledgements are ordinary messages. Who may publish to the relay's inbox, and has seen the
 * subjects of answers, tries to acknowledge in the server's place. Here a subject that the stream
 * no longer takes stands for a server that does not store: who listens to it sees every message
 * with the subject of its answer, as any consumer of a stream's subjects does.
 */

#define FORGERIES 16

/* "inbox.NUMBER-TOKEN" with another number and token. */
static void guess(char *out, size_t size, const char *seen, int step, bool same_token)
{
    size_t inbox = (size_t)(strrchr(seen, '.') - seen);
    unsigned long long first = strtoull(seen + inbox + 1, NULL, 10);
    const char *token = strchr(seen + inbox, '-');

    assert_non_null(token);
    (void)snprintf(out, size, "%.*s.%llu%s", (int)inbox, seen, first + (unsigned long long)step,
                   same_token ? token : "-0123456789a");
}

static void acknowledge(natsConnection *forger, const char *reply, int sequence)
{
    char text[96];

    (void)snprintf(text, sizeof text, "{\"stream\":\"%s\", \"seq\":%d}", stream, sequence);
    (void)natsConnection_PublishString(forger, reply, text);
}

/* On seeing the first message, acknowledges those that follow it. */
static void forge_next(natsConnection *forger, natsSubscription *subscription, natsMsg *seen,
                       void *closure)
{
    const char *reply = natsMsg_GetReply(seen);
    char guessed[NATS_REPLY_BYTES + 16];

    (void)subscription;
    (void)closure;
    if (strcmp(natsMsg_GetData(seen), "first") == 0)
        for (int i = 1; i <= FORGERIES; i++) {
            guess(guessed, sizeof guessed, reply, i, true);
            acknowledge(forger, guessed, 1000 + i);
            guess(guessed, sizeof guessed, reply, i, false);
            acknowledge(forger, guessed, 1000 + i);
        }
    (void)natsConnection_Flush(forger);
    natsMsg_Destroy(seen);
}

static natsSubscription *listen(const char *subject, natsMsgHandler on_message)
{
    natsSubscription *listener = NULL;

    assert_int_equal(natsConnection_Subscribe(&listener, connection, subject, on_message, NULL),
                     NATS_OK);
    assert_int_equal(natsConnection_Flush(connection), NATS_OK);
    return listener;
}

TEST(the_reply_subject_of_one_message_does_not_let_anyone_acknowledge_the_next)
{
    natsSubscription *forger;

    say_stream_takes(">");
    forger = listen("lost.>", forge_next);
    options.publish_timeout_ms = 500;
    for (int i = 0; i <= FORGERIES; i++)
        set_payload(add_message(&batch, "lost.in", NULL, NULL), i == 0 ? "first" : "other", 5);
    assert_int_equal(publish_within(500), -1);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 0);
    assert_int_equal(stored(stream), 0);
    natsSubscription_Destroy(forger);
}

/* Acknowledges each message under its own reply subject, always with the same sequence number. */
static void forge_same_number(natsConnection *forger, natsSubscription *subscription, natsMsg *seen,
                              void *closure)
{
    (void)subscription;
    (void)closure;
    acknowledge(forger, natsMsg_GetReply(seen), 7);
    (void)natsConnection_Flush(forger);
    natsMsg_Destroy(seen);
}

TEST(a_sequence_number_acknowledges_one_message_of_a_connection)
{
    natsSubscription *forger;

    say_stream_takes(">");
    forger = listen("lost.>", forge_same_number);
    for (int round = 0; round < 2; round++) {
        batch_reset(&batch);
        for (int i = 0; i < 5; i++)
            (void)add_message(&batch, "lost.in", NULL, "x");
        assert_int_equal(publish_within(2000), -1);
        assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 1);
        assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), 4);
        assert_true(nats_lost((struct nats *)broker));
        wait_until_ready();
        say_stream_takes(">");
    }
    natsSubscription_Destroy(forger);
}

TEST(a_stream_that_was_made_anew_acknowledges_on_the_next_connection)
{
    jsStreamConfig config;
    char subject[64];

    (void)snprintf(subject, sizeof subject, "%s.in", prefix);
    fill_batch_of(subject, 3);
    publish_quickly();
    delete_stream(stream);
    (void)jsStreamConfig_Init(&config);
    add_stream(stream, &config, subject_of(">"));
    fill_batch_of(subject, 3);
    assert_int_equal(publish_within(2000), -1);
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), 3);
    wait_until_ready();
    publish_quickly();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 3);
    assert_int_equal(stored(stream), 3);
}

static const char own_inbox[] =
    "jetstream {store_dir: js}\n"
    "authorization { users: [{user: admin, password: admin}\n"
    "  {user: relay, password: relay, permissions: {\n"
    "    publish: [\"*.in\", \"$JS.API.STREAM.INFO.*\", \"$JS.API.STREAM.MSG.GET.*\"],\n"
    "    subscribe: [\"_INBOX_relay.>\"]}}]}\n";

TEST_WITH(acknowledgements_come_back_below_the_sinks_inbox_prefix, NULL, teardown)
{
    natsSubscription *listener = NULL;
    natsMsg *seen = NULL;
    jsStreamConfig config;
    char subject[64];

    open_own(state, own_inbox, "relay");
    options.inbox_prefix = (char *)(uintptr_t) "_INBOX_relay";
    (void)jsStreamConfig_Init(&config);
    use_stream(&config);
    assert_int_equal(natsConnection_SubscribeSync(&listener, connection, "*.in"), NATS_OK);
    assert_int_equal(natsConnection_Flush(connection), NATS_OK);
    (void)snprintf(subject, sizeof subject, "%s.in", prefix);
    (void)add_message(&batch, subject, NULL, "x");
    (void)add_message(&batch, "_INBOX_relay.x", NULL, "x");
    publish_quickly();
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    assert_refused(&batch.messages[1], VERDICT_DECLINED, "inbox_prefix");
    assert_int_equal(natsSubscription_NextMsg(&seen, listener, WAIT_MS), NATS_OK);
    assert_int_equal(strncmp(natsMsg_GetReply(seen), "_INBOX_relay.", 13), 0);
    natsMsg_Destroy(seen);
    natsSubscription_Destroy(listener);
    stop_own_server();
}

TEST(an_inbox_that_the_stream_would_take_is_refused)
{
    char inside[64];

    (void)snprintf(inside, sizeof inside, "%s.inbox", prefix);
    options.inbox_prefix = inside;
    nats_disconnect((struct nats *)broker);
    assert_int_equal(broker_ready(broker, &error), -1);
    assert_int_equal(error.kind, ERROR_PERMANENT);
    assert_says(&error, "choose an inbox_prefix that none of its subjects matches");
}

TEST_WITH(a_user_who_may_not_subscribe_to_the_inbox_learns_its_name, NULL, teardown)
{
    jsStreamConfig config;

    open_own(state, own_inbox, "relay");
    (void)jsStreamConfig_Init(&config);
    add_stream(stream, &config, subject_of(">"));
    assert_int_equal(broker_ready(broker, &error), -1);
    assert_non_null(strstr(error.hint, "subscribe to _INBOX.>"));
    stop_own_server();
}
