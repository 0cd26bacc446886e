#include "integration/keyed_rows.h"
#include "integration/nats_fixture.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

/*
 * The messages of a key in atomic batches, at a server that has them: in order and without a gap,
 * whatever happens in between.
 */

#define NEW_SERVER "build/matrix/nats-2.15.2/nats-server"
#define KEYS 4
#define KEY_ROWS 10
#define MESSAGE_BYTES_MAX 1000

static char large[4001];
static char values[ROWS_MAX][4200];
static char keys[KEYS][16];
static char subjects[2][64];

static int start(void **state)
{
    static char program[PATH_MAX];

    (void)state;
    own_program = realpath(NEW_SERVER, program);
    return own_program != NULL ? 0 : -1;
}

ONCE(start, close_library)

/* `verb`: CREATE or UPDATE; `rest`: more of its settings, as JSON. */
static void set_stream(const char *verb, bool is_atomic, const char *rest)
{
    char request[512], subject[96];
    natsMsg *reply = NULL;

    (void)snprintf(subject, sizeof subject, "$JS.API.STREAM.%s.%s", verb, stream);
    (void)snprintf(request, sizeof request,
                   "{\"name\":\"%s\",\"subjects\":[\"%s.>\"],\"storage\":\"file\","
                   "\"retention\":\"limits\",\"allow_atomic\":%s%s}",
                   stream, prefix, is_atomic ? "true" : "false", rest);
    assert_int_equal(natsConnection_RequestString(&reply, connection, subject, request, WAIT_MS),
                     NATS_OK);
    if (strstr(natsMsg_GetData(reply), "\"error\"") != NULL)
        fail_msg("%.*s", natsMsg_GetDataLength(reply), natsMsg_GetData(reply));
    natsMsg_Destroy(reply);
}

static int open_atomic(void **state)
{
    char max[64];

    if (open_broker(state) != 0)
        return -1;
    start_own_server("jetstream {store_dir: js}\n");
    disconnect_reader();
    connect_reader_to(own_url);
    options.servers.items[0] = own_url;
    options.keep_order = true;
    options.atomic_batches = true;
    (void)snprintf(max, sizeof max, ",\"max_msg_size\":%d", MESSAGE_BYTES_MAX);
    set_stream("CREATE", true, max);
    for (int i = 0; i < 2; i++)
        (void)snprintf(subjects[i], sizeof subjects[i], "%s.s%d", prefix, i);
    memset(large, 'x', sizeof large - 1);
    row_count = 0;
    return broker_ready(broker, &error);
}

static int close_atomic(void **state)
{
    int status = teardown(state);

    end_own_server();
    return status;
}

FIXTURE(open_atomic, close_atomic)

static struct nats *client(void)
{
    return (struct nats *)broker;
}

/* Key by key in turn, each with two subjects; "K0-3" is the fourth value of the first key. */
static void add_rows(int key_count, int count)
{
    for (int i = 0; i < count; i++) {
        (void)snprintf(keys[i % key_count], sizeof keys[0], "K%d", i % key_count);
        (void)snprintf(values[i], sizeof values[0], "K%d-%d", i % key_count, i / key_count);
        (void)add_row(subjects[i / key_count % 2], keys[i % key_count], values[i]);
    }
}

static void expect_all_stored(int key_count, int each)
{
    assert_int_equal(count_rows(OUTCOME_SENT), key_count * each);
    for (int i = 0; i < key_count; i++)
        assert_int_equal(stored_of(i), each);
}

/* A batch of many waves. */
static void expect_in_batches(bool expected)
{
    const struct batch deep = {.last_wave = 100};

    assert_int_equal(broker_keeps_order(broker, &deep, SINK),
                     expected ? ORDER_KEPT_IN_SINK : ORDER_NOT_KEPT);
}

TEST(a_key_leaves_in_one_batch_whatever_its_subjects)
{
    natsMsg *last;
    const char *value = NULL;

    add_rows(1, ROWS_MAX);
    assert_int_equal(run_cycle(), 0);
    assert_int_equal(batch.last_wave, 0);
    expect_all_stored(1, ROWS_MAX);
    last = read_back(ROWS_MAX);
    assert_int_equal(natsMsgHeader_Get(last, "Nats-Batch-Commit", &value), NATS_OK);
    assert_int_equal(natsMsgHeader_Get(last, "Nats-Msg-Id", &value), NATS_OK);
    natsMsg_Destroy(last);
    assert_ptr_equal(broker->key_order, nats_in_batches);
}

TEST(keys_without_a_second_message_need_no_batch)
{
    natsMsg *first;
    const char *value = NULL;

    add_rows(KEYS, KEYS);
    assert_int_equal(run_cycle(), 0);
    expect_all_stored(KEYS, 1);
    first = read_back(1);
    assert_int_equal(natsMsgHeader_Get(first, "Nats-Batch-Id", &value), NATS_NOT_FOUND);
    natsMsg_Destroy(first);
}

TEST(more_than_a_batch_holds_leaves_in_several)
{
    set_stream("UPDATE", true, "");
    nats_disconnect(client());
    for (int i = 0; i < ROWS_MAX; i++) {
        int len = snprintf(values[i], sizeof values[i], "K0-%d ", i);

        memset(values[i] + len, 'x', (size_t)(4100 - len));
        (void)add_row(subjects[0], "K0", values[i]);
    }
    assert_int_equal(run_cycle(), 0);
    assert_int_equal(batch.last_wave, 0);
    assert_true(client()->pending[0].state == NATS_STORED);
    expect_all_stored(1, ROWS_MAX);
}

/* Only the last key stops, at this place. */
static void expect_held_at(int place)
{
    for (int key = 0; key < KEYS; key++)
        assert_int_equal(stored_of(key), key == KEYS - 1 ? place : KEY_ROWS);
    assert_int_equal(count_rows(OUTCOME_BEHIND), KEY_ROWS - 1 - place);
}

/* The subject is one that no stream takes any more. */
TEST(a_message_that_spoils_a_batch_holds_its_key_and_nothing_else)
{
    static const int places[] = {0, 5, KEY_ROWS - 1};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int bad = places[i] * KEYS + KEYS - 1;

        row_count = 0;
        assert_int_equal(js_PurgeStream(context, stream, NULL, NULL), NATS_OK);
        add_rows(KEYS, KEYS * KEY_ROWS);
        rows[bad].destination = "gone.x";
        nats_disconnect(client());
        wait_until_ready();
        say_stream_takes(">");
        client()->chunks.one_per_key = false;
        assert_int_equal(run_cycle(), 0);
        assert_int_equal(count_rows(OUTCOME_SENT), 0);
        assert_int_equal(stored(stream), 0);
        expect_in_batches(false);
        run_cycles();
        assert_int_equal(rows[bad].outcome, OUTCOME_PARK);
        expect_held_at(places[i]);
    }
}

TEST(a_message_that_is_too_large_for_the_stream_spoils_no_batch)
{
    add_rows(KEYS, KEYS * KEY_ROWS);
    rows[5 * KEYS + KEYS - 1].value = large;
    assert_int_equal(run_cycle(), 0);
    expect_in_batches(true);
    run_cycles();
    assert_int_equal(count_rows(OUTCOME_DEAD), 1);
    expect_held_at(5);
}

/* More round trips than one by one, and the server copies them all. */
TEST(large_messages_of_many_keys_need_no_batches)
{
    static char megabyte[1024 * 1024];
    char name[16];

    memset(megabyte, 'x', sizeof megabyte - 1);
    for (int i = 0; i < 12; i++) {
        struct message *message = add_message(&batch, subjects[0], NULL, NULL);

        (void)snprintf(name, sizeof name, "K%d", i % 4);
        message->key = batch_copy(&batch, name, strlen(name));
        message->payload = (struct text){megabyte, i < 6 ? 1 : sizeof megabyte / 6};
    }
    assert_int_equal(order_link(&batch, (const enum order_kept[]){ORDER_NOT_KEPT}), 0);
    assert_int_equal(batch.last_wave, 2);
    assert_int_equal(broker_keeps_order(broker, &batch, SINK), ORDER_NOT_KEPT);
    batch.messages[11].payload.len = 1;
    assert_int_equal(broker_keeps_order(broker, &batch, SINK), ORDER_KEPT_IN_SINK);
}

/* The library knows that the server takes less by now, and refuses the last message by itself. */
TEST(a_last_message_that_the_library_refuses_holds_nobody_for_ever)
{
    nats_disconnect(client());
    end_own_server();
    start_own_server("jetstream {store_dir: js}\nmax_payload: 3000\n");
    disconnect_reader();
    connect_reader_to(own_url);
    set_stream("CREATE", true, "");
    wait_until_ready();
    client()->message_bytes_max = 1000000;
    add_rows(1, 5);
    rows[4].value = large;
    run_cycles();
    assert_int_equal(count_rows(OUTCOME_SENT), 4);
    assert_int_equal(rows[4].outcome, OUTCOME_DEAD);
}

TEST(a_server_that_takes_smaller_batches_gets_them)
{
    nats_disconnect(client());
    end_own_server();
    start_own_server("jetstream {store_dir: js, limits: {batch: {max_msgs: 100}}}\n");
    disconnect_reader();
    connect_reader_to(own_url);
    set_stream("CREATE", true, "");
    wait_until_ready();
    add_rows(1, ROWS_MAX);
    run_cycles();
    expect_all_stored(1, ROWS_MAX);
    expect_in_batches(true);
    assert_in_range(client()->chunks.messages_max, 50, 100);
}

TEST(a_limit_of_the_stream_that_was_lowered_is_read_again)
{
    set_stream("UPDATE", true, ",\"max_msg_size\":500");
    add_rows(1, 5);
    memset(values[2], 'x', 600);
    values[2][600] = '\0';
    run_cycles();
    assert_int_equal(count_rows(OUTCOME_SENT), 2);
    assert_int_equal(rows[2].outcome, OUTCOME_DEAD);
    client()->subjects_read_at_ms = 0;
    wait_until_ready();
    assert_int_equal(client()->stream_bytes_max, 500);
}

TEST(after_a_refusal_batches_come_back)
{
    say_stream_takes(">");
    add_rows(1, 3);
    rows[2].destination = "gone.x";
    run_cycles();
    expect_in_batches(false);
    client()->chunks.one_per_key_until_ms = 0;
    row_count = 0;
    (void)add_row(subjects[0], "another", "x");
    run_cycles();
    expect_in_batches(true);
}

/* As after a crash between the acknowledgement and the commit. */
TEST(repeats_are_recognised_and_stored_once)
{
    add_rows(KEYS, KEYS * KEY_ROWS);
    run_cycles();
    for (int i = 0; i < row_count; i++)
        rows[i].outcome = OUTCOME_UNSENT;
    (void)add_row(subjects[0], keys[0], "K0-10");
    run_cycles();
    assert_int_equal(stored(stream), KEYS * KEY_ROWS + 1);
    assert_int_equal(count_rows(OUTCOME_SENT), row_count);
    assert_int_equal(stored_of(0), KEY_ROWS + 1);
}

TEST(an_event_that_is_twice_in_a_batch_is_stored_once_and_another_with_its_id_is_dead)
{
    add_rows(1, 6);
    rows[3] = rows[2];
    rows[5].id = rows[4].id;
    run_cycles();
    assert_int_equal(count_rows(OUTCOME_SENT), 5);
    assert_int_equal(rows[5].outcome, OUTCOME_DEAD);
    assert_int_equal(stored(stream), 4);
}

TEST(a_stream_that_loses_its_flag_gets_its_messages_one_by_one)
{
    add_rows(KEYS, KEYS * KEY_ROWS);
    expect_in_batches(true);
    set_stream("UPDATE", false, "");
    assert_int_equal(run_cycle(), 0);
    run_cycles();
    expect_all_stored(KEYS, KEY_ROWS);
    nats_disconnect(client());
    wait_until_ready();
    assert_ptr_equal(broker->key_order, nats_not_atomic);
    assert_reported(
        "the events of a key are sent one by one (the stream does not have allow_atomic)",
        "--allow-batch");
    set_stream("UPDATE", true, "");
    wait_until_ready();
    assert_ptr_equal(broker->key_order, nats_not_atomic);
    client()->subjects_read_at_ms -= 60000;
    wait_until_ready();
    assert_ptr_equal(broker->key_order, nats_in_batches);
    assert_reported("the events of a key are sent in atomic batches", "");
}

TEST(a_stream_that_is_purged_or_made_anew_takes_the_next_batch)
{
    add_rows(KEYS, KEYS * KEY_ROWS);
    run_cycles();
    assert_int_equal(js_PurgeStream(context, stream, NULL, NULL), NATS_OK);
    row_count = 0;
    add_rows(KEYS, KEYS * KEY_ROWS);
    assert_int_equal(run_cycle(), 0);
    expect_all_stored(KEYS, KEY_ROWS);
    delete_stream(stream);
    set_stream("CREATE", true, "");
    row_count = 0;
    add_rows(KEYS, KEYS * KEY_ROWS);
    run_cycles();
    expect_all_stored(KEYS, KEY_ROWS);
    assert_int_equal(stored(stream), KEYS * KEY_ROWS);
}

/* It restarts on the same streams; its port is another one. */
TEST(a_server_that_is_killed_with_a_batch_in_its_sockets_stores_all_of_it_or_nothing)
{
    struct keyed_row *claimed[ROWS_MAX];

    add_rows(1, ROWS_MAX);
    claim_rows(claimed);
    link_batch();
    pause_own_server();
    broker_send(broker, &batch, SINK, clock_now_ms() + WAIT_MS);
    assert_int_equal(kill(own_server, SIGKILL), 0);
    assert_int_equal(broker_await(broker, &batch, SINK, clock_now_ms() + WAIT_MS, &error), -1);
    assert_int_equal(waitpid(own_server, NULL, 0), own_server);
    disconnect_reader();
    launch_own_server();
    connect_reader_to(own_url);
    assert_true(stored(stream) == 0 || stored(stream) == ROWS_MAX);
    run_cycles();
    assert_int_equal(stored(stream), ROWS_MAX);
    expect_all_stored(1, ROWS_MAX);
}

TEST(a_sink_without_atomic_batches_or_order_sends_none)
{
    options.atomic_batches = false;
    nats_disconnect(client());
    add_rows(1, KEY_ROWS);
    run_cycles();
    expect_all_stored(1, KEY_ROWS);
    assert_non_null(strstr(broker->key_order, "atomic_batches = false"));
    options.atomic_batches = true;
    options.keep_order = false;
    nats_disconnect(client());
    wait_until_ready();
    expect_in_batches(false);
}

TEST(the_stream_that_the_sink_creates_takes_batches)
{
    delete_stream(stream);
    options.create = true;
    allow(&options, (char *)(uintptr_t)subject_of(">"));
    nats_disconnect(client());
    wait_until_ready();
    expect_in_batches(true);
}

/* The headers of a batch would make it too large for the stream. */
TEST(a_message_that_just_fits_is_sent_alone_and_in_its_place)
{
    static char edge[MESSAGE_BYTES_MAX];
    int dead;

    memset(edge, 'x', sizeof edge - 1);
    do {
        edge[strlen(edge) - 1] = '\0';
        assert_int_equal(js_PurgeStream(context, stream, NULL, NULL), NATS_OK);
        row_count = 0;
        add_rows(1, 5);
        rows[2].value = edge;
        assert_int_equal(run_cycle(), 0);
        dead = count_rows(OUTCOME_DEAD);
    } while (dead > 0);
    assert_in_range(strlen(edge), MESSAGE_BYTES_MAX / 2, MESSAGE_BYTES_MAX);
    assert_int_equal(count_rows(OUTCOME_SENT), 5);
    assert_int_equal(stored(stream), 5);
    expect_in_batches(true);
}

static void await_stored(uint64_t count)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    while (stored(stream) < count && clock_left_ms(deadline_ms) > 0)
        (void)poll(NULL, 0, 1);
    assert_true(stored(stream) >= count);
}

/* The server takes the whole batch from the socket when it goes on, after the relay gave up. */
TEST(a_batch_whose_answer_is_lost_is_stored_once)
{
    struct keyed_row *claimed[ROWS_MAX];

    add_rows(1, ROWS_MAX);
    claim_rows(claimed);
    link_batch();
    pause_own_server();
    assert_int_equal(publish_within(500), -1);
    assert_says(&error, "500 messages were not acknowledged");
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), ROWS_MAX);
    assert_int_equal(kill(own_server, SIGCONT), 0);
    await_stored(ROWS_MAX);
    run_cycles();
    assert_int_equal(stored(stream), ROWS_MAX);
    expect_all_stored(1, ROWS_MAX);
}

/* A batch that has not ended leaves nothing behind. */
TEST(a_batch_without_its_end_is_not_stored)
{
    struct keyed_row *claimed[ROWS_MAX];
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    add_rows(1, KEY_ROWS);
    claim_rows(claimed);
    link_batch();
    broker_send(broker, &batch, SINK, deadline_ms);
    client()->chunk_last = -1;
    nats_hang_up(client());
    assert_int_equal(broker_await(broker, &batch, SINK, deadline_ms, &error), -1);
    run_cycles();
    expect_all_stored(1, KEY_ROWS);
}

static void *publish_foreign(void *ends)
{
    natsConnection *own = NULL;

    if (natsConnection_ConnectTo(&own, own_url) == NATS_OK)
        while (!atomic_load((atomic_bool *)ends) &&
               natsConnection_PublishString(own, subjects[0], "foreign") == NATS_OK)
            (void)natsConnection_Flush(own);
    natsConnection_Destroy(own);
    return NULL;
}

TEST(another_publisher_to_the_same_subjects_does_not_disturb_a_batch)
{
    atomic_bool ends = false;
    pthread_t other;

    assert_int_equal(pthread_create(&other, NULL, publish_foreign, &ends), 0);
    await_stored(1);
    add_rows(KEYS, ROWS_MAX);
    assert_int_equal(run_cycle(), 0);
    atomic_store(&ends, true);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_true(stored(stream) > ROWS_MAX);
    expect_all_stored(KEYS, ROWS_MAX / KEYS);
}

/* Nobody but the server that has the stream may say what a batch has become; these answer in its
 * place. */
struct answerer {
    const char *format; /* of stream, number, id and count */
    int more;           /* than were sent */
};

static void on_last(natsConnection *from, natsSubscription *subscription, natsMsg *last,
                    void *closure)
{
    const struct answerer *answerer = closure;
    const char *id = NULL, *place = NULL;
    char answer[256];

    (void)subscription;
    if (natsMsg_GetReply(last) != NULL &&
        natsMsgHeader_Get(last, "Nats-Batch-Id", &id) == NATS_OK &&
        natsMsgHeader_Get(last, "Nats-Batch-Sequence", &place) == NATS_OK) {
        (void)snprintf(answer, sizeof answer, answerer->format, stream, 1000, id,
                       (int)strtol(place, NULL, 10) + answerer->more);
        (void)natsConnection_PublishString(from, natsMsg_GetReply(last), answer);
    }
    natsMsg_Destroy(last);
}

static int sent_when_answered(struct answerer answerer)
{
    natsSubscription *subscription = NULL;
    struct keyed_row *claimed[ROWS_MAX];
    int sent;

    nats_disconnect(client());
    wait_until_ready();
    client()->chunks.one_per_key = false;
    say_stream_takes("elsewhere.>");
    row_count = 0;
    for (int i = 0; i < 5; i++)
        (void)add_row("elsewhere.x", "K0", "x");
    assert_int_equal(
        natsConnection_Subscribe(&subscription, connection, "elsewhere.>", on_last, &answerer),
        NATS_OK);
    assert_int_equal(natsConnection_Flush(connection), NATS_OK);
    claim_rows(claimed);
    link_batch();
    (void)publish_within(QUICK_MS);
    sent = count_verdicts(&batch, VERDICT_SENT);
    natsSubscription_Destroy(subscription);
    return sent;
}

TEST(only_an_answer_for_exactly_this_batch_counts)
{
    static const char whole[] = "{\"stream\":\"%s\",\"seq\":%d,\"batch\":\"%s\",\"count\":%d}";

    assert_int_equal(sent_when_answered((struct answerer){whole, 0}), 5);
    assert_int_equal(sent_when_answered((struct answerer){whole, 1}), 0);
    assert_int_equal(sent_when_answered((struct answerer){whole, -1}), 0);
    assert_int_equal(sent_when_answered((struct answerer){
                         "{\"stream\":\"%s\",\"seq\":%d,\"batch\":\"x%s\",\"count\":%d}", 0}),
                     0);
    assert_int_equal(sent_when_answered((struct answerer){"{\"stream\":\"%s\", \"seq\":%d}", 0}),
                     0);
}
