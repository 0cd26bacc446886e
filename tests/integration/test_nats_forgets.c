/* A stream that has lost what it acknowledged: each loss is found once, nothing that is sent
 * afterwards is lost, and what an operator does himself is no loss. */
#include "integration/nats_fixture.h"

static struct seen *seen;
static struct seen_loss losses[SEEN_LOSSES_MAX];

static void open_lane(void)
{
    broker_close(broker);
    broker = broker_open(&options, seen, &error);
    assert_non_null(broker);
    wait_until_ready();
}

static int set_up(void **state)
{
    seen = seen_new("outbox-relay audit");
    if (seen == NULL || setup(state) != 0)
        return -1;
    open_lane();
    return 0;
}

static int tear_down(void **state)
{
    int status = teardown(state);

    seen_free(seen);
    return status;
}

ONCE(NULL, close_library)
FIXTURE(set_up, tear_down)

/* `count` events, each of which has a number of its own. */
static void fill(struct batch *into, int count)
{
    static int next;

    batch_reset(into);
    for (int i = 0; i < count; i++) {
        struct message *message = add_message(into, subject_of("a"), "k", "v");
        char id[32];

        (void)snprintf(id, sizeof id, "forgets-%d", ++next);
        message->event_id = batch_copy(into, id, strlen(id));
    }
}

/* As a lane does: what was not acknowledged is sent again. */
static void send_all(void)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    while (count_verdicts(&batch, VERDICT_SENT) < batch.count) {
        assert_true(clock_left_ms(deadline_ms) > 0);
        for (int i = 0; i < batch.count; i++)
            if (batch.messages[i].verdict == VERDICT_WAIT)
                batch.messages[i].verdict = VERDICT_PENDING;
        if (broker_ready(broker, &error) == 0)
            (void)publish_within(QUICK_MS);
    }
}

static void send_events(int count)
{
    fill(&batch, count);
    send_all();
}

static int taken(void)
{
    return seen_take_losses(seen, losses, SEEN_LOSSES_MAX);
}

static void assert_lost(const char *text)
{
    assert_int_equal(taken(), 1);
    assert_non_null(strstr(losses[0].text, text));
    assert_string_equal(losses[0].destination, stream);
}

static void make_stream(void)
{
    jsStreamConfig config;

    (void)jsStreamConfig_Init(&config);
    add_stream(stream, &config, subject_of(">"));
}

/* What an idle lane does once a minute. */
static void look_again(void)
{
    ((struct nats *)broker)->subjects_read_at_ms = clock_now_ms() - 3600000;
    (void)broker_ready(broker, &error);
}

static void restore_one(void *closure, const struct seen_memory *memory)
{
    seen_restore(closure, memory);
}

/* Another process, which has only what was kept. */
static void restart_relay(void)
{
    struct seen *next = seen_new("outbox-relay audit");

    assert_non_null(next);
    seen_each(seen, false, restore_one, next);
    seen_free(seen);
    seen = next;
    open_lane();
}

static void reconnect(void)
{
    disconnect_reader();
    connect_reader();
}

TEST(a_stream_that_was_made_anew_takes_each_message_and_the_loss_is_found)
{
    send_events(20);
    delete_stream(stream);
    make_stream();
    send_events(3);
    assert_int_equal(stored(stream), 3);
    assert_lost("had been acknowledged before");
    send_events(30);
    look_again();
    assert_int_equal(taken(), 0);
}

TEST(an_idle_relay_finds_that_the_stream_was_made_anew)
{
    send_events(3);
    delete_stream(stream);
    make_stream();
    look_again();
    assert_lost("it was made anew at");
    send_events(3);
    assert_int_equal(stored(stream), 3);
    assert_int_equal(taken(), 0);
}

TEST(a_relay_that_starts_finds_that_the_stream_was_made_anew_and_filled_by_others)
{
    send_events(3);
    delete_stream(stream);
    make_stream();
    for (int i = 0; i < 10; i++)
        assert_int_equal(js_Publish(NULL, context, subject_of("b"), "x", 1, NULL, NULL), NATS_OK);
    restart_relay();
    assert_lost("it was made anew at");
}

TEST(a_stream_that_the_relay_makes_anew_is_a_loss_and_the_first_one_is_none)
{
    static char pattern[64];

    (void)snprintf(pattern, sizeof pattern, "%s.>", prefix);
    delete_stream(stream);
    options.create = true;
    allow(&options, pattern);
    restart_relay();
    send_events(20);
    assert_int_equal(taken(), 0);
    delete_stream(stream);
    send_events(1);
    assert_int_equal(stored(stream), 1);
    assert_lost("this relay has made it");
    options.create = false;
}

TEST(a_stream_that_is_missing_is_a_loss)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    send_events(20);
    delete_stream(stream);
    look_again();
    assert_int_equal(taken(), 0); /* a server that has just started may not know it yet */
    while (seen_take_losses(seen, losses, 1) == 0) {
        assert_true(clock_left_ms(deadline_ms) > 0);
        (void)broker_ready(broker, &error);
    }
    assert_non_null(strstr(losses[0].text, "does not exist any more"));
    make_stream();
    send_events(3);
    assert_int_equal(taken(), 0);
}

TEST(what_an_operator_purges_or_deletes_is_no_loss)
{
    send_events(20);
    assert_int_equal(js_DeleteMsg(context, stream, 20, NULL, NULL), NATS_OK);
    look_again();
    assert_int_equal(js_PurgeStream(context, stream, NULL, NULL), NATS_OK);
    look_again();
    send_events(3);
    restart_relay();
    assert_int_equal(stored(stream), 3);
    assert_int_equal(taken(), 0);
}

TEST(a_purge_before_the_server_starts_again_is_no_loss)
{
    send_events(20);
    assert_int_equal(js_PurgeStream(context, stream, NULL, NULL), NATS_OK);
    services("stop", "nats");
    services("start", "nats");
    reconnect();
    open_lane();
    send_events(3);
    assert_int_equal(taken(), 0);
}

TEST(repeats_that_the_stream_drops_are_no_loss)
{
    send_events(20);
    for (int i = 0; i < batch.count; i++)
        batch.messages[i].verdict = VERDICT_PENDING;
    send_all();
    assert_int_equal(stored(stream), 20);
    send_events(1);
    assert_int_equal(taken(), 0);
}

TEST(lanes_that_send_to_one_stream_find_no_loss)
{
    struct broker *other = broker_open(&options, seen, &error);
    struct batch second;

    assert_int_equal(batch_init(&second, batch.capacity), 0);
    for (int i = 0; i < 50; i++) {
        fill(&batch, 7);
        fill(&second, 7);
        publish_crosswise(other, &second);
    }
    batch_free(&second);
    broker_close(other);
    assert_int_equal(stored(stream), 700);
    assert_int_equal(taken(), 0);
}

static void copy_store(const char *from, const char *to)
{
    char command[512];

    (void)snprintf(command, sizeof command, "cd \"$TEST_DIR/nats\" && rm -rf %s && cp -a %s %s", to,
                   from, to);
    assert_int_equal(system(command), 0);
}

/* A backup of the server's files, which is older than the last messages. */
static void go_back_to_a_backup(void)
{
    send_events(5);
    services("stop", "nats");
    copy_store("store", "backup");
    services("start", "nats");
    reconnect();
    open_lane();
    send_events(15);
    services("kill", "nats");
    copy_store("backup", "store");
    services("start", "nats");
    reconnect();
}

TEST(a_server_that_comes_back_without_its_last_messages_is_found_by_a_relay_that_connects)
{
    go_back_to_a_backup();
    wait_until_ready();
    assert_lost("had been acknowledged before");
    send_events(3);
    assert_int_equal(stored(stream), 8);
    assert_int_equal(taken(), 0);
}

TEST(a_server_that_comes_back_without_its_last_messages_is_found_by_a_relay_that_starts)
{
    go_back_to_a_backup();
    restart_relay();
    assert_lost("ends with the position 5, but 20 had been");
}

TEST(a_server_that_was_wiped_is_found)
{
    send_events(5);
    services("kill", "nats");
    services("wipe", "nats");
    services("start", "nats");
    reconnect();
    make_stream();
    send_events(3);
    assert_int_equal(stored(stream), 3);
    assert_lost("it was made anew at");
}
