#include "broker/broker.h"
#include "integration/nats_fixture.h"

#include <sys/ioctl.h>

ONCE(NULL, close_library)

FIXTURE(setup, teardown)

/* When bytes are sent and when they no longer are: what batches, idle times and deadlines need. */

static const char plain_server[] = "jetstream {store_dir: js}\ndebug: true\n";

static void open_plain(void **state)
{
    jsStreamConfig config;

    open_own(state, plain_server, NULL);
    (void)jsStreamConfig_Init(&config);
    use_stream(&config);
}

/* The subject, in memory that outlives every batch. */
static const char *taken(void)
{
    static char subject[64];

    (void)snprintf(subject, sizeof subject, "%s.in", prefix);
    return subject;
}

static int own_socket(void)
{
    return ((const struct nats *)broker)->io->socket;
}

static void await_stored(const char *name, uint64_t count)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    while (stored(name) < count && clock_left_ms(deadline_ms) > 0)
        (void)poll(NULL, 0, 1);
    assert_int_equal(stored(name), count);
}

static void await_own_log(const char *words)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    while (!own_log_says(words)) {
        assert_true(clock_left_ms(deadline_ms) > 0);
        (void)poll(NULL, 0, 10);
    }
}

/* ---- a wave ---- */

TEST(messages_are_stored_before_their_acknowledgements_are_awaited)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    fill_batch_of(taken(), 50);
    broker_send(broker, &batch, SINK, deadline_ms);
    await_stored(stream, 50);
    assert_int_equal(broker_await(broker, &batch, SINK, deadline_ms, &error), 0);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 50);
}

#define PAUSED (SINK + 1)

static struct broker *open_paused(void)
{
    static struct sink_options paused;
    struct broker *opened;

    start_own_server(plain_server);
    paused = sink_of_type("nats");
    paused.servers = (struct text_list){.items = {own_url}, .count = 1};
    paused.stream = "PAUSED";
    paused.create = true;
    allow(&paused, (char *)(uintptr_t)taken());
    opened = broker_open(&paused, NULL, &error);
    assert_int_equal(broker_ready(opened, &error), 0);
    allow_nothing_more(&paused);
    pause_own_server();
    return opened;
}

/* Both sinks are sent to before either is awaited, and the paused one takes all the time there is.
 */
TEST(a_paused_server_costs_the_other_sinks_of_the_batch_no_acknowledgement)
{
    struct broker *paused = open_paused();
    int64_t deadline_ms = clock_now_ms() + LATE_MS;

    fill_batch_of(taken(), BATCH);
    for (int i = 0; i < BATCH; i += 2)
        batch.messages[i].sink = PAUSED;
    broker_send(paused, &batch, PAUSED, deadline_ms);
    broker_send(broker, &batch, SINK, deadline_ms);
    assert_int_equal(broker_await(paused, &batch, PAUSED, deadline_ms, &error), -1);
    assert_int_equal(clock_left_ms(deadline_ms), 0);
    assert_int_equal(broker_await(broker, &batch, SINK, deadline_ms, &error), 0);
    for (int i = 0; i < BATCH; i++)
        assert_int_equal(batch.messages[i].verdict, i % 2 == 0 ? VERDICT_PENDING : VERDICT_SENT);
    assert_int_equal(stored(stream), BATCH / 2);
    broker_close(paused);
    stop_own_server();
    connect_reader();
}

static void await_kernel_written(void)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;
    int unresolved = 1;

    while (unresolved > 0 && clock_left_ms(deadline_ms) > 0) {
        assert_int_equal(ioctl(own_socket(), TIOCOUTQ, &unresolved), 0);
        (void)poll(NULL, 0, 1);
    }
    assert_int_equal(unresolved, 0);
}

/* The server is paused during the send, and reads again once the deadline has passed. */
TEST_WITH(nothing_is_written_after_the_deadline, NULL, teardown)
{
    size_t len = 900000;
    char *payload = calloc(1, len);
    int64_t deadline_ms;
    int handed_over;

    open_plain(state);
    assert_non_null(payload);
    for (int i = 0; i < 40; i++)
        set_payload(add_message(&batch, subject_of("in"), NULL, NULL), payload, len);
    pause_own_server();
    deadline_ms = clock_now_ms() + 500;
    broker_send(broker, &batch, SINK, deadline_ms);
    handed_over = ((const struct nats *)broker)->expected;
    assert_int_equal(clock_left_ms(deadline_ms), 0);
    assert_in_range(handed_over, 1, 39);
    assert_int_equal(kill(own_server, SIGCONT), 0);
    await_kernel_written();
    assert_int_equal(broker_await(broker, &batch, SINK, deadline_ms, &error), -1);
    await_own_log("Client connection closed");
    assert_in_range(stored(stream), 0, handed_over - 1);
    free(payload);
    stop_own_server();
}

/* ---- nobody answers ---- */

TEST(a_row_that_the_stream_does_not_take_reaches_no_subscriber_and_its_neighbours_are_sent)
{
    static const char *const untaken[] = {"other.core", "no.stream.1", "no.stream.2"};
    natsSubscription *subscriber = NULL;
    uint64_t received = 0;

    assert_int_equal(natsConnection_SubscribeSync(&subscriber, connection, "other.core"), NATS_OK);
    assert_int_equal(natsConnection_Flush(connection), NATS_OK);
    for (int round = 1; round <= 2; round++) {
        fill_batch_of(taken(), 10);
        for (int i = 0; i < 3; i++)
            (void)add_message(&batch, untaken[i], NULL, "x");
        wait_until_ready();
        publish_quickly();
        assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 10);
        for (int i = 10; i < 13; i++)
            assert_refused(&batch.messages[i], VERDICT_WAIT, "has no subject that matches");
        assert_int_equal(stored(stream), 10 * round);
    }
    assert_int_equal(natsConnection_Flush(connection), NATS_OK);
    assert_int_equal(natsSubscription_QueuedMsgs(subscriber, &received), NATS_OK);
    assert_int_equal(received, 0);
    natsSubscription_Destroy(subscriber);
}

static void set_acknowledging(bool acknowledges)
{
    const char *subjects[] = {subject_of(">")};
    jsStreamConfig config;

    (void)jsStreamConfig_Init(&config);
    config.Name = stream;
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.NoAck = !acknowledges;
    assert_int_equal(js_UpdateStream(NULL, context, &config, NULL, NULL), NATS_OK);
}

TEST(a_withheld_acknowledgement_blames_the_server_and_no_subject)
{
    set_acknowledging(false);
    fill_batch_of(taken(), 1);
    for (int i = 0; i < 2; i++)
        (void)add_message(&batch, i == 0 ? "no.stream.1" : "no.stream.2", NULL, "x");
    assert_int_equal(publish_within(500), -1);
    assert_says(&error, "1 message was not acknowledged (no valid answer in time)");
    assert_int_equal(batch.messages[0].verdict, VERDICT_PENDING);
    assert_int_equal(count_verdicts(&batch, VERDICT_WAIT), 2);
    set_acknowledging(true);
    wait_until_ready();
    publish_quickly();
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    assert_int_equal(stored(stream), 1);
}

/* ---- a rest ---- */

static void await_heard(short what)
{
    struct pollfd wait = {.fd = own_socket(), .events = what};

    assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
}

TEST_WITH(a_connection_that_the_server_closed_while_idle_costs_no_batch, NULL, teardown)
{
    jsStreamConfig config;
    uint64_t id;

    open_own(state, "jetstream {store_dir: js}\nping_interval: \"1s\"\nping_max: 1\n", NULL);
    (void)jsStreamConfig_Init(&config);
    use_stream(&config);
    id = client_id();
    await_heard(POLLRDHUP);
    assert_int_equal(broker_ready(broker, &error), 0);
    assert_int_not_equal(client_id(), id);
    fill_batch_of(taken(), 10);
    publish_quickly();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 10);
    stop_own_server();
}

/* A server that shuts down announces it and then closes: more than one read is needed to find the
 * end. */
TEST_WITH(a_closed_connection_is_found_before_the_next_batch_even_behind_unread_input, NULL,
          teardown)
{
    open_plain(state);
    assert_int_equal(kill(own_server, SIGUSR2), 0);
    await_heard(POLLIN);
    assert_int_equal(kill(own_server, SIGKILL), 0);
    await_heard(POLLRDHUP);
    assert_int_equal(broker_ready(broker, &error), -1);
    stop_own_server();
}
