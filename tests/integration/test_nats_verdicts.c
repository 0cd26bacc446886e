#include "integration/nats_fixture.h"

#include <stdatomic.h>

ONCE(NULL, close_library)

FIXTURE(NULL, teardown)

/*
 * Which answer of the server has which verdict, and that a message which cannot be sent costs its
 * neighbours neither their acknowledgement nor the connection.
 */

/* Nothing is kept for the next batch, or for the life of the connection. */
static void assert_nothing_is_kept(void)
{
    const struct nats *nats = (const struct nats *)broker;
    uint64_t queued = 0;

    assert_int_equal(natsSubscription_QueuedMsgs(nats->inbox, &queued), NATS_OK);
    assert_int_equal(queued, 0);
    assert_int_equal(nats->received_taken, nats->received_count);
    assert_int_equal(nats->discarded_count, 0);
}

static void add_stream_of(const char *first, const char *second)
{
    const char *subjects[] = {first, second};
    jsStreamConfig config;

    (void)jsStreamConfig_Init(&config);
    config.Name = stream;
    config.Subjects = subjects;
    config.SubjectsLen = 2;
    assert_int_equal(js_AddStream(NULL, context, &config, NULL, NULL), NATS_OK);
}

/* ---- the stream ---- */

TEST(a_stream_full_by_bytes_lets_messages_wait)
{
    static char payload[600];
    jsStreamConfig config;

    (void)open_broker(state);
    (void)jsStreamConfig_Init(&config);
    config.MaxBytes = 1000;
    config.Discard = js_DiscardNew;
    use_stream(&config);
    for (int i = 0; i < 3; i++)
        set_payload(add_message(&batch, subject_of("in"), NULL, NULL), payload, sizeof payload);
    publish_quickly();
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    assert_refused(&batch.messages[1], VERDICT_WAIT, "maximum bytes exceeded (10077)");
    assert_refused(&batch.messages[2], VERDICT_WAIT, "maximum bytes exceeded (10077)");
}

TEST(a_sealed_stream_lets_messages_wait)
{
    jsStreamConfig config;
    const char *subjects[1];

    (void)open_broker(state);
    subjects[0] = subject_of(">");
    (void)jsStreamConfig_Init(&config);
    use_stream(&config);
    config.Subjects = subjects;
    config.Sealed = true;
    assert_int_equal(js_UpdateStream(NULL, context, &config, NULL, NULL), NATS_OK);
    (void)add_message(&batch, subject_of("in"), NULL, "x");
    publish_quickly();
    assert_refused(&batch.messages[0], VERDICT_WAIT, "invalid operation on sealed stream (10109)");
}

TEST_WITH(a_stream_deleted_while_running_lets_messages_wait_until_it_is_back, setup, teardown)
{
    jsStreamConfig config;
    uint64_t id = client_id();

    delete_stream(stream);
    (void)add_message(&batch, subject_of("in"), NULL, "x");
    publish_quickly();
    assert_refused(&batch.messages[0], VERDICT_WAIT, "no stream has a subject that matches");
    (void)jsStreamConfig_Init(&config);
    add_stream(stream, &config, subject_of(">"));
    batch.messages[0].verdict = VERDICT_PENDING;
    publish_quickly();
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    assert_int_equal(client_id(), id);
}

/* ---- limits of an account, on a server of the test's own ---- */

static const char small_account[] =
    "jetstream {store_dir: js}\n"
    "accounts { A {\n"
    "  jetstream: {max_file: 4000, max_mem: 3000}\n"
    "  users: [{user: admin, password: admin}, {user: relay, password: relay}]}}\n";

TEST(a_full_account_lets_messages_wait)
{
    static const jsStorageType storages[] = {js_FileStorage, js_MemoryStorage};
    static char payload[790];
    jsStreamConfig config;

    open_own(state, small_account, "relay");
    for (int i = 0; i < 2; i++) {
        (void)jsStreamConfig_Init(&config);
        config.Storage = storages[i];
        use_stream(&config);
        batch_reset(&batch);
        for (int row = 0; row < 8; row++)
            set_payload(add_message(&batch, subject_of("in"), NULL, NULL), payload, sizeof payload);
        publish_quickly();
        assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
        assert_refused(&batch.messages[7], VERDICT_WAIT, "resource limits exceeded for account");
        assert_int_equal(
            count_verdicts(&batch, VERDICT_SENT) + count_verdicts(&batch, VERDICT_WAIT), 8);
        if (storages[i] == js_MemoryStorage)
            assert_reported("of its 3000 bytes of memory", "raise the account's limits");
        delete_stream(stream);
        nats_disconnect((struct nats *)broker);
    }
    stop_own_server();
}

/* ---- permissions ---- */

#define ADMIN "{user: admin, password: admin}\n"
#define RELAY_MAY(publish)                                                                         \
    "jetstream {store_dir: js}\nauthorization { users: [" ADMIN                                    \
    "  {user: relay, password: relay, permissions: {publish: {" publish                            \
    ", \"$JS.API.STREAM.INFO.*\"]}, subscribe: [\"_INBOX.>\"]}}]}\n"

#define LETTERS_50 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwx"

TEST(a_forbidden_subject_waits_at_once_whatever_its_name)
{
    static const char *const forbidden[] = {
        "out.plain",       "out.\"quoted\"",
        "out.back\\slash", "out.'",
        "out.%s\\\"",      "out." LETTERS_50 LETTERS_50 LETTERS_50 LETTERS_50 LETTERS_50 "z",
    };
    int count = (int)(sizeof forbidden / sizeof *forbidden);
    uint64_t id;

    open_own(state, RELAY_MAY("allow: [\"in.>\""), "relay");
    add_stream_of("in.>", "out.>");
    assert_int_equal(broker_ready(broker, &error), 0);
    id = client_id();
    for (int round = 0; round < 3; round++) {
        fill_batch_of("in.x", 50);
        for (int i = 0; i < count; i++)
            for (int twice = 0; twice < 2; twice++)
                (void)add_message(&batch, forbidden[i], NULL, "x");
        publish_quickly();
        assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 50);
        assert_int_equal(count_verdicts(&batch, VERDICT_WAIT), 2 * count);
        assert_refused(&batch.messages[50 + 2], VERDICT_WAIT, "not permitted to publish to");
        assert_int_equal(client_id(), id);
        assert_nothing_is_kept();
    }
    assert_int_equal(stored(stream), 3 * 50);
    stop_own_server();
}

static void reload_own(const char *config)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    write_own_config(config);
    assert_int_equal(kill(own_server, SIGHUP), 0);
    while (!own_log_says("Reloaded server configuration")) {
        assert_true(clock_left_ms(deadline_ms) > 0);
        (void)poll(NULL, 0, 10);
    }
}

TEST(a_permission_taken_away_while_running_stops_one_subject)
{
    open_own(state, RELAY_MAY("allow: [\"a.>\", \"b.>\""), "relay");
    add_stream_of("a.>", "b.>");
    assert_int_equal(broker_ready(broker, &error), 0);
    (void)add_message(&batch, "a.x", NULL, "x");
    (void)add_message(&batch, "b.x", NULL, "x");
    publish_quickly();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 2);
    reload_own(RELAY_MAY("allow: [\"a.>\""));
    fill_batch_of("a.y", 20);
    (void)add_message(&batch, "b.y", NULL, "x");
    publish_reconnecting();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 20);
    assert_refused(&batch.messages[20], VERDICT_WAIT, "not permitted to publish to \"b.y\"");
    stop_own_server();
}

static void open_limited(void **state, const char *config)
{
    jsStreamConfig stream_config;

    open_own(state, config, NULL);
    (void)jsStreamConfig_Init(&stream_config);
    use_stream(&stream_config);
}

TEST(a_lowered_max_payload_rejects_what_is_now_too_large)
{
    static char payload[3000];

    open_limited(state, "jetstream {store_dir: js}\n");
    reload_own("jetstream {store_dir: js}\nmax_payload: 2000\n");
    (void)add_message(&batch, subject_of("small"), NULL, "x");
    set_payload(add_message(&batch, subject_of("large"), NULL, NULL), payload, sizeof payload);
    publish_reconnecting();
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    assert_refused(&batch.messages[1], VERDICT_REJECTED, "larger than max_payload 2000");
    stop_own_server();
}

static struct message *publish_large(size_t len)
{
    static char payload[8000];
    struct message *large;

    batch_reset(&batch);
    large = add_message(&batch, subject_of("large"), NULL, NULL);
    set_payload(large, payload, len);
    (void)add_message(&batch, subject_of("small"), NULL, "x");
    publish_quickly();
    assert_int_equal(batch.messages[1].verdict, VERDICT_SENT);
    return large;
}

/* Makes the limit as old as if the connection had been made long ago. */
static void age_limit(void)
{
    ((struct nats *)broker)->max_payload_read_at_ms -= 10000;
}

TEST(a_raised_max_payload_is_noticed_before_a_message_is_rejected)
{
    uint64_t id;

    open_limited(state, "jetstream {store_dir: js}\nmax_payload: 2000\n");
    reload_own("jetstream {store_dir: js}\nmax_payload: 4000\n");
    id = client_id();
    assert_refused(publish_large(3000), VERDICT_REJECTED, "larger than max_payload 2000");
    age_limit();
    assert_int_equal(publish_large(3000)->verdict, VERDICT_PENDING);
    assert_int_equal(client_id(), id);
    wait_until_ready();
    assert_int_not_equal(client_id(), id);
    assert_int_equal(publish_large(3000)->verdict, VERDICT_SENT);
    stop_own_server();
}

TEST(a_message_above_a_limit_that_was_just_learned_is_rejected_on_the_same_connection)
{
    uint64_t id;

    open_limited(state, "jetstream {store_dir: js}\nmax_payload: 2000\n");
    age_limit();
    assert_int_equal(publish_large(3000)->verdict, VERDICT_PENDING);
    wait_until_ready();
    id = client_id();
    for (int i = 0; i < 3; i++) {
        assert_refused(publish_large(3000), VERDICT_REJECTED, "larger than max_payload 2000");
        wait_until_ready();
    }
    assert_int_equal(client_id(), id);
    stop_own_server();
}

/* ---- a service that answers in a stream's place: whatever the payload says ---- */

static void answer_of_code(char *out, size_t size, int code)
{
    (void)snprintf(out, size,
                   "{\"error\":{\"code\":400,\"err_code\":%d,\"description\":\"said so\"},"
                   "\"stream\":\"%s\",\"seq\":0}",
                   code, stream);
}

TEST_WITH(each_answer_of_a_server_has_its_verdict, setup, teardown)
{
    static const struct {
        int code;
        enum verdict verdict;
    } coded[] = {
        {10002, VERDICT_WAIT},  {10008, VERDICT_WAIT},     {10023, VERDICT_WAIT},
        {10047, VERDICT_WAIT},  {10054, VERDICT_REJECTED}, {10060, VERDICT_WAIT},
        {10071, VERDICT_RETRY}, {10077, VERDICT_WAIT},     {10097, VERDICT_REJECTED},
        {10109, VERDICT_WAIT},  {10158, VERDICT_WAIT},     {10164, VERDICT_RETRY},
        {10167, VERDICT_WAIT},  {10194, VERDICT_WAIT},     {19999, VERDICT_RETRY},
    };
    static const char *const wordless[] = {
        "+OK",
        "{}",
        "{\"error\":{\"code\":503,\"description\":\"raft: not leader\"}}",
        "[1,2]",
        "{\"stream\":\"x\"}",
        "{\"stream\":7,\"seq\":\"x\"}"};
    static char answers[32][256];
    natsSubscription *service = NULL;
    int count = (int)(sizeof coded / sizeof *coded);

    say_stream_takes(">");
    assert_int_equal(natsConnection_Subscribe(&service, connection, "service.>", on_request, NULL),
                     NATS_OK);
    assert_int_equal(natsConnection_Flush(connection), NATS_OK);
    for (int i = 0; i < count; i++) {
        answer_of_code(answers[i], sizeof answers[i], coded[i].code);
        (void)add_message(&batch, "service.code", NULL, answers[i]);
    }
    for (size_t i = 0; i < sizeof wordless / sizeof *wordless; i++)
        (void)add_message(&batch, "service.word", NULL, wordless[i]);
    (void)add_message(&batch, subject_of("in"), NULL, "x");
    publish_quickly();
    for (int i = 0; i < count; i++)
        if (batch.messages[i].verdict != coded[i].verdict)
            fail_msg("code %d: verdict %d", coded[i].code, (int)batch.messages[i].verdict);
    for (int i = count; i < batch.count - 1; i++)
        if (batch.messages[i].verdict != VERDICT_WAIT)
            fail_msg("%.*s: verdict %d", (int)batch.messages[i].payload.len,
                     batch.messages[i].payload.data, (int)batch.messages[i].verdict);
    assert_int_equal(batch.messages[batch.count - 1].verdict, VERDICT_SENT);
    assert_refused(&batch.messages[0], VERDICT_WAIT, "said so (10002)");
    natsSubscription_Destroy(service);
}

/* A server without JetStream, in whose place the test gives this reply to each question. */
static natsSubscription *begin_own_jetstream(void **state, char *reply)
{
    natsSubscription *service = NULL;

    (void)open_broker(state);
    start_own_server("");
    disconnect_reader();
    connect_reader_to(own_url);
    options.servers.items[0] = own_url;
    assert_int_equal(natsConnection_Subscribe(&service, connection, "$JS.API.>", on_request, reply),
                     NATS_OK);
    assert_int_equal(natsConnection_Flush(connection), NATS_OK);
    return service;
}

/* A stream that takes ">" does the same: it takes the question about itself too. */
TEST(an_answer_that_does_not_describe_the_stream_is_reported)
{
    static char ack[] = "{\"stream\":\"S\",\"seq\":1}";
    natsSubscription *service = begin_own_jetstream(state, ack);

    assert_int_equal(broker_ready(broker, &error), -1);
    assert_says(&error, "the reply is not stream information");
    natsSubscription_Destroy(service);
    stop_own_server();
}

/* A stream of a cluster that elects a leader, or has no majority: nobody takes the message, and the
 * server does not know more of the stream. */
TEST(a_stream_without_a_leader_makes_the_sink_wait_and_not_the_message)
{
    static char info[] = "{\"config\":{\"subjects\":[\">\"]}}";
    static char no_leader[] = "{\"error\":{\"code\":503,\"err_code\":10008,\"description\":"
                              "\"JetStream system temporarily unavailable\"}}";
    natsSubscription *service = begin_own_jetstream(state, info);

    assert_int_equal(broker_ready(broker, &error), 0);
    natsSubscription_Destroy(service);
    assert_int_equal(
        natsConnection_Subscribe(&service, connection, "$JS.API.>", on_request, no_leader),
        NATS_OK);
    assert_int_equal(natsConnection_Flush(connection), NATS_OK);
    (void)add_message(&batch, subject_of("in"), NULL, "x");
    assert_int_equal(publish_within(QUICK_MS), -1);
    assert_says(&error, "the stream has no leader");
    assert_int_equal(batch.messages[0].verdict, VERDICT_PENDING);
    assert_int_equal(broker_ready(broker, &error), -1);
    assert_says(&error, "JetStream system temporarily unavailable");
    natsSubscription_Destroy(service);
    stop_own_server();
}

/* ---- a stream that acknowledges nothing ---- */

/* What the servers of a cluster say of a stream; ACTIVE: when each replica was last heard, in ns.
 */
#define INFO(LEADER, ACTIVE)                                                                       \
    "{\"config\":{\"subjects\":[\">\"]},\"cluster\":{" LEADER "\"replicas\":[{\"active\":" ACTIVE  \
    "},{\"active\":" ACTIVE "}]}}"
#define LED_BY(NAME) "\"leader\":\"" NAME "\","
#define UNTIL_MS 7000 /* longer than a silence may last */

static char led_by_one[] = INFO(LED_BY("one"), "1000");
static char led_by_two[] = INFO(LED_BY("two"), "1000");
static char led_by_nobody[] = INFO("", "1000");
static char led_alone[] = INFO(LED_BY("one"), "9000000000");

/* NULL: no question is answered. */
static void answer_with(natsSubscription **service, char *reply)
{
    natsSubscription_Destroy(*service);
    assert_int_equal(reply != NULL ? natsConnection_Subscribe(service, connection, "$JS.API.>",
                                                              on_request, reply)
                                   : natsConnection_SubscribeSync(service, connection, "$JS.API.>"),
                     NATS_OK);
    assert_int_equal(natsConnection_Flush(connection), NATS_OK);
}

/* Somebody takes the message and acknowledges nothing. */
TEST(a_batch_without_acknowledgements_is_given_up_unless_the_leader_is_only_slow)
{
    static const struct {
        char *reply; /* about the stream, once the message is on its way */
        const char *why;
        bool at_the_deadline;
    } cases[] = {
        {led_by_two, "another server leads the stream now", false},
        {led_alone, "leader has lost the other replicas", false},
        {NULL, "(nothing answers)", false},
        {led_by_one, "(no valid answer in time)", true},
    };
    natsSubscription *service = begin_own_jetstream(state, led_by_one);
    natsSubscription *taker = NULL;

    assert_int_equal(natsConnection_SubscribeSync(&taker, connection, subject_of("in")), NATS_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t started_ms;

        answer_with(&service, led_by_one);
        wait_until_ready();
        answer_with(&service, cases[i].reply);
        batch_reset(&batch);
        (void)add_message(&batch, subject_of("in"), NULL, "x");
        started_ms = clock_now_ms();
        assert_int_equal(publish_within(UNTIL_MS), -1);
        if (cases[i].at_the_deadline)
            assert_true(clock_now_ms() - started_ms >= UNTIL_MS);
        assert_says(&error, cases[i].why);
        assert_int_equal(batch.messages[0].verdict, VERDICT_PENDING);
    }
    natsSubscription_Destroy(taker);
    natsSubscription_Destroy(service);
    stop_own_server();
}

static natsSubscription *late_taker;
static atomic_int late_questions;

/* The second question is answered after the message was acknowledged. */
static void on_question(natsConnection *service, natsSubscription *subscription, natsMsg *question,
                        void *closure)
{
    char ack[96];
    natsMsg *taken = NULL;

    (void)subscription;
    (void)closure;
    (void)snprintf(ack, sizeof ack, "{\"stream\":\"%s\",\"seq\":1}", stream);
    if (atomic_fetch_add(&late_questions, 1) == 1 &&
        natsSubscription_NextMsg(&taken, late_taker, QUICK_MS) == NATS_OK) {
        (void)natsConnection_PublishString(service, natsMsg_GetReply(taken), ack);
        natsMsg_Destroy(taken);
    }
    (void)natsConnection_PublishString(service, natsMsg_GetReply(question), led_by_two);
    natsMsg_Destroy(question);
}

/* The leader that the relay knows has stepped down long ago. */
TEST(a_leader_that_is_new_to_the_relay_and_slow_is_awaited)
{
    natsSubscription *service = begin_own_jetstream(state, led_by_one);

    assert_int_equal(natsConnection_SubscribeSync(&late_taker, connection, subject_of("in")),
                     NATS_OK);
    assert_int_equal(broker_ready(broker, &error), 0);
    natsSubscription_Destroy(service);
    assert_int_equal(natsConnection_Subscribe(&service, connection, "$JS.API.>", on_question, NULL),
                     NATS_OK);
    assert_int_equal(natsConnection_Flush(connection), NATS_OK);
    (void)add_message(&batch, subject_of("in"), NULL, "x");
    assert_int_equal(publish_within(UNTIL_MS), 0);
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    assert_int_equal(atomic_load(&late_questions), 2);
    natsSubscription_Destroy(late_taker);
    natsSubscription_Destroy(service);
    stop_own_server();
}

TEST(a_stream_without_a_leader_that_has_followers_is_away)
{
    natsSubscription *service = begin_own_jetstream(state, led_by_nobody);

    assert_int_equal(broker_ready(broker, &error), -1);
    assert_says(&error, "the stream has no leader");
    answer_with(&service, led_alone);
    assert_int_equal(broker_ready(broker, &error), -1);
    assert_says(&error, "leader has lost the other replicas");
    answer_with(&service, led_by_one);
    wait_until_ready();
    natsSubscription_Destroy(service);
    stop_own_server();
}

/* ---- poison ---- */

static char too_long_subject[257];
static char too_large_payload[1024 * 1024];
static struct header many_headers[65];
static char long_value[17000];
static char long_key[70000];

/* Adds a good message and one that the caller spoils. */
static struct message *add_between_good(const char *subject)
{
    (void)add_message(&batch, subject_of("good"), NULL, "x");
    return add_message(&batch, subject_of(subject), NULL, "x");
}

static void set_headers(struct message *message, struct header *headers, int count)
{
    message->headers = headers;
    message->header_count = count;
}

/* One of each kind, between two good ones each. */
static int add_poison(void)
{
    static const struct text subjects[] = {
        {NULL, 0},
        {"", 0},
        {"a b", 3},
        {"a\tb", 3},
        {"a\rb", 3},
        {"a\nb", 3},
        {"a\0b", 3},
        {"a\x01", 2},
        {"a\x7f", 2},
        {"a\xc3\xa4", 3},
        {"a.*", 3},
        {"a.>", 3},
        {">", 1},
        {".a", 2},
        {"a.", 2},
        {"a..b", 4},
        {"$JS.API.STREAM.PURGE.S", 22},
        {"$SYS.x", 6},
        {"$KV.b.k", 7},
        {"$O.b.C.x", 8},
        {"_INBOX.x", 8},
        {"$JS", 3},
        {"$SYS", 4},
        {"$KV", 3},
        {"$O", 2},
        {"_INBOX", 6},
        {"a 1\r\nx\r\nPUB b 1\r\nx\r\n", 23},
        {too_long_subject, 256},
    };
    static struct header headers[] = {
        {{"", 0}, {"v", 1}},
        {{"a:b", 3}, {"v", 1}},
        {{"a b", 3}, {"v", 1}},
        {{"a\r\nb", 4}, {"v", 1}},
        {{"Nats-Rollup", 11}, {"all", 3}},
        {{"nats-msg-id", 11}, {"1", 1}},
        {{"X-Nats-Msg-Id", 13}, {"1", 1}},
        {{"id", 2}, {"1", 1}},
        {{"key", 3}, {"1", 1}},
        {{"n", 1}, {"a\rb", 3}},
        {{"n", 1}, {"a\nb", 3}},
        {{"n", 1}, {"a\0b", 3}},
        {{"n", 1}, {" a", 2}},
        {{"a", 1}, {"see Nats-Msg-Id", 15}},
        {{"n", 1}, {"a\t", 2}},
        {{"n", 1}, {long_value, sizeof long_value}},
    };
    static const struct text keys[] = {{"a\r\nNats-Rollup: all", 19},
                                       {"a\0b", 3},
                                       {" a", 2},
                                       {"a ", 2},
                                       {long_key, sizeof long_key}};
    int count = 0;

    memset(too_long_subject, 'a', sizeof too_long_subject - 1);
    memset(long_value, 'v', sizeof long_value);
    memset(long_key, 'k', sizeof long_key);
    for (int i = 0; i < 65; i++)
        many_headers[i] = (struct header){text_of("n"), text_of("v")};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++, count++)
        add_between_good("")->destination = subjects[i];
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++, count++)
        set_headers(add_between_good("h"), &headers[i], 1);
    set_headers(add_between_good("h"), many_headers, 65);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++, count++)
        add_between_good("k")->route_key = keys[i];
    add_between_good("t")->type = (struct text){"a\nb", 3};
    add_between_good("e")->event_id = text_of("");
    add_between_good("e")->event_id = text_of(" 1");
    set_payload(add_between_good("p"), too_large_payload, sizeof too_large_payload);
    add_between_good("p")->payload_len = 200000000;
    return count + 6;
}

TEST_WITH(one_poison_of_each_kind_delays_and_disconnects_nobody, setup, teardown)
{
    uint64_t id = client_id();
    int poisoned;

    poisoned = add_poison();
    (void)add_message(&batch, subject_of("good"), NULL, "x");
    publish_quickly();
    assert_int_equal(count_verdicts(&batch, VERDICT_REJECTED), poisoned);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), poisoned + 1);
    for (int i = 0; i < batch.count; i++)
        assert_int_equal(batch.messages[i].verdict, i % 2 == 0 ? VERDICT_SENT : VERDICT_REJECTED);
    assert_int_equal(client_id(), id);
    assert_int_equal(stored(stream), poisoned + 1);
}

/* As it goes over the wire: a first line, the names and values, an empty line. */
static size_t header_bytes_of(const struct message *message)
{
    const char *const names[] = {"id", "Nats-Msg-Id", "Nats-Expected-Stream"};
    size_t bytes = strlen("NATS/1.0\r\n") + strlen("\r\n");

    for (int i = 0; i < 3; i++)
        bytes += strlen(names[i]) + strlen(": \r\n");
    return bytes + 2 * message->event_id.len + strlen(stream);
}

/* The server counts headers and payload together, and closes the connection of who exceeds it. */
TEST_WITH(the_largest_message_is_sent_and_one_byte_more_is_rejected, setup, teardown)
{
    uint64_t id = client_id();

    for (size_t more = 0; more < 2; more++) {
        struct message *message = add_message(&batch, subject_of("p"), NULL, NULL);

        set_payload(message, too_large_payload,
                    sizeof too_large_payload - header_bytes_of(message) + more);
    }
    publish_quickly();
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    assert_refused(&batch.messages[1], VERDICT_REJECTED, "larger than max_payload 1048576");
    assert_int_equal(client_id(), id);
}

/* JetStream counts a header in 16 bits. */
TEST_WITH(the_largest_headers_are_sent_and_one_byte_more_is_rejected, setup, teardown)
{
    struct message *message[2];

    for (size_t more = 0; more < 2; more++) {
        message[more] = add_message(&batch, subject_of("h"), NULL, "x");
        message[more]->route_key = (struct text){long_key, 65535 - header_bytes_of(message[more]) -
                                                               strlen("key: \r\n") + more};
    }
    memset(long_key, 'k', sizeof long_key);
    publish_quickly();
    assert_int_equal(message[0]->verdict, VERDICT_SENT);
    assert_refused(message[1], VERDICT_REJECTED, "64 KiB");
}
