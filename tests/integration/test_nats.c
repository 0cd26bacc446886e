#include "base/clock.h"
#include "broker/broker.h"
#include "integration/nats_fixture.h"

ONCE(NULL, close_library)

FIXTURE(setup, teardown)

/* Publishing, waiting and inspecting, against the real server. */

static void fill_batch(int count)
{
    batch_reset(&batch);
    for (int i = 0; i < count; i++) {
        struct message *message = add_message(&batch, subject_of("many"), "k", "payload");
        char id[64];

        (void)snprintf(id, sizeof id, "%s-%d-%lld", stream, i, (long long)clock_now_ms());
        message->event_id = batch_copy(&batch, id, strlen(id));
    }
}

static void assert_header(natsMsg *message, const char *name, const char *expected)
{
    const char *value = NULL;
    natsStatus status = natsMsgHeader_Get(message, name, &value);

    if (expected == NULL) {
        assert_int_equal(status, NATS_NOT_FOUND);
        return;
    }
    assert_int_equal(status, NATS_OK);
    assert_string_equal(value, expected);
}

static void assert_raw_header(int sequence, const char *line)
{
    char raw[1024];

    read_raw_headers(sequence, raw, sizeof raw);
    if (strstr(raw, line) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", line, raw);
}

TEST(a_message_arrives_with_all_its_parts)
{
    struct header headers[] = {{text_of("trace"), text_of("abc")}, {text_of("x.y"), text_of("0")}};
    struct message *message = add_message(&batch, subject_of("order"), "key 1", "{\"n\":1}");
    natsMsg *found;

    message->type = text_of("created");
    message->created_at = text_of("2026-01-02T03:04:05Z");
    message->headers = headers;
    message->header_count = 2;
    publish_quickly();
    assert_int_equal(message->verdict, VERDICT_SENT);
    found = read_back(1);
    assert_string_equal(natsMsg_GetSubject(found), subject_of("order"));
    assert_int_equal(natsMsg_GetDataLength(found), 7);
    assert_memory_equal(natsMsg_GetData(found), "{\"n\":1}", 7);
    assert_header(found, "id", "00000000-0000-4000-8000-000000000001");
    assert_header(found, "Nats-Msg-Id", "00000000-0000-4000-8000-000000000001");
    assert_header(found, "type", "created");
    assert_header(found, "created_at", "2026-01-02T03:04:05Z");
    assert_header(found, "key", "key 1");
    assert_header(found, "trace", "abc");
    assert_header(found, "x.y", "0");
    assert_header(found, "Nats-Expected-Stream", stream);
    natsMsg_Destroy(found);
}

TEST(a_null_column_makes_no_header)
{
    natsMsg *found;

    (void)add_message(&batch, subject_of("tombstone"), NULL, NULL);
    (void)add_message(&batch, subject_of("empty"), "", "");
    publish_quickly();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 2);
    found = read_back(1);
    assert_int_equal(natsMsg_GetDataLength(found), 0);
    assert_header(found, "key", NULL);
    assert_header(found, "type", NULL);
    assert_header(found, "created_at", NULL);
    natsMsg_Destroy(found);
    assert_raw_header(2, "\r\nkey: \r\n");
}

TEST(the_allow_list_is_kept)
{
    struct message *taken;
    struct message *refused;

    allow(&options, subject_of("in.>"));
    taken = add_message(&batch, subject_of("in.a"), NULL, "x");
    refused = add_message(&batch, subject_of("out"), NULL, "x");
    publish_quickly();
    assert_int_equal(taken->verdict, VERDICT_SENT);
    assert_refused(refused, VERDICT_DECLINED, "allow list");
}

TEST_WITH(a_full_stream_lets_messages_wait, NULL, teardown)
{
    jsStreamConfig config;

    (void)open_broker(state);
    (void)jsStreamConfig_Init(&config);
    config.MaxMsgs = 2;
    config.MaxMsgSize = 1000;
    config.Discard = js_DiscardNew;
    add_stream(stream, &config, subject_of(">"));
    assert_int_equal(broker_ready(broker, &error), 0);
    for (int i = 0; i < 4; i++)
        (void)add_message(&batch, subject_of("in"), NULL, "x");
    publish_quickly();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 2);
    assert_refused(&batch.messages[3], VERDICT_WAIT, "maximum messages exceeded");
    assert_reported("it is full and refuses messages: it holds 2 messages (max_msgs 2)",
                    "--max-msgs");
}

TEST_WITH(a_stream_that_takes_or_keeps_nothing_is_reported, NULL, teardown)
{
    jsStreamSource origin;
    jsStreamConfig config;

    (void)open_broker(state);
    (void)jsStreamConfig_Init(&config);
    config.Retention = js_InterestPolicy;
    use_stream(&config);
    assert_reported("there is no consumer: it acknowledges messages and stores none",
                    "nats consumer add");
    assert_int_equal(broker_ready(broker, &error), 0);
    assert_true(broker->keeps_nothing);
    config.Sealed = true;
    assert_int_equal(js_UpdateStream(NULL, context, &config, NULL, NULL), NATS_OK);
    assert_reported("it is sealed", "add another stream");
    delete_stream(stream);
    (void)jsStreamConfig_Init(&config);
    add_stream("ORIGIN", &config, "origin.>");
    (void)jsStreamSource_Init(&origin);
    origin.Name = "ORIGIN";
    (void)jsStreamConfig_Init(&config);
    config.Name = stream;
    config.Mirror = &origin;
    assert_int_equal(js_AddStream(NULL, context, &config, NULL, NULL), NATS_OK);
    assert_reported("it is a mirror", "stream = \"ORIGIN\" in [sink.");
    delete_stream("ORIGIN");
}

TEST_WITH(a_subject_that_no_consumer_takes_is_reported, NULL, teardown)
{
    static const char said[] = "no consumer takes";
    static const char fix[] = "nats consumer add";
    jsConsumerConfig consumer;
    jsStreamConfig config;

    (void)open_broker(state);
    (void)jsStreamConfig_Init(&config);
    config.Retention = js_InterestPolicy;
    use_stream(&config);
    (void)jsConsumerConfig_Init(&consumer);
    consumer.Durable = "orders";
    consumer.AckPolicy = js_AckExplicit;
    consumer.FilterSubject = subject_of("orders.*");
    assert_int_equal(js_AddConsumer(NULL, context, stream, &consumer, NULL, NULL), NATS_OK);
    assert_true(is_reported(subject_of("orders.a.b"), said, fix));
    assert_true(is_reported(subject_of("payments"), said, fix));
    assert_false(is_reported(subject_of("orders.a"), said, fix));
    consumer.Durable = "all";
    consumer.FilterSubject = NULL;
    assert_int_equal(js_AddConsumer(NULL, context, stream, &consumer, NULL, NULL), NATS_OK);
    assert_false(is_reported(subject_of("payments"), said, fix));
}

TEST_WITH(a_full_subject_is_reported, NULL, teardown)
{
    static const char said[] = "is full and refuses messages: it holds 1 of max_msgs_per_subject 1";
    jsStreamConfig config;

    (void)open_broker(state);
    (void)jsStreamConfig_Init(&config);
    config.MaxMsgsPerSubject = 1;
    config.Discard = js_DiscardNew;
    config.DiscardNewPerSubject = true;
    use_stream(&config);
    (void)add_message(&batch, subject_of("full"), NULL, "x");
    publish_quickly();
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    assert_true(is_reported(subject_of("full"), said, "--max-msgs-per-subject"));
    assert_false(is_reported(subject_of("empty"), said, "--max-msgs-per-subject"));
}

TEST_WITH(a_message_larger_than_the_stream_takes_is_rejected, NULL, teardown)
{
    static char payload[2000];
    jsStreamConfig config;

    (void)open_broker(state);
    (void)jsStreamConfig_Init(&config);
    config.MaxMsgSize = 1000;
    add_stream(stream, &config, subject_of(">"));
    assert_int_equal(broker_ready(broker, &error), 0);
    set_payload(add_message(&batch, subject_of("in"), NULL, NULL), payload, sizeof payload);
    publish_quickly();
    assert_refused(&batch.messages[0], VERDICT_REJECTED,
                   "payload of 2000 bytes plus headers: larger than max_msg_size 1000 of stream");
}

TEST(a_repeat_is_sent_but_stored_once)
{
    for (int round = 0; round < 2; round++) {
        batch_reset(&batch);
        (void)add_message(&batch, subject_of("in"), NULL, "x");
        publish_quickly();
        assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    }
    assert_int_equal(stored(stream), 1);
}

TEST(a_killed_server_ends_the_wait_and_nothing_is_published_later)
{
    int64_t started_ms;

    fill_batch(10);
    publish();
    services("kill", "nats");
    fill_batch(BATCH);
    started_ms = clock_now_ms();
    assert_int_equal(publish_within(5000), -1);
    assert_int_equal(error.kind, ERROR_TRANSIENT);
    assert_true(clock_now_ms() - started_ms < 5000 + SLACK_MS);
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), BATCH);
    assert_int_equal(broker_ready(broker, &error), -1);
    disconnect_reader();
    services("start", "nats");
    connect_reader();
    wait_until_ready();
    fill_batch(10);
    publish();
    assert_int_equal(stored(stream), 20);
}

/* Kills the server while batches are being published. */
static pid_t kill_server_behind(uint64_t messages)
{
    pid_t child;

    while (stored(stream) < messages) {
        fill_batch(20);
        publish();
    }
    child = fork();
    if (child == 0)
        _exit(execlp("tests/support/services", "services", "kill", "nats", (char *)NULL));
    return child;
}

static int publish_until_it_fails(void)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;
    int batches = 0;

    do {
        assert_true(clock_left_ms(deadline_ms) > 0);
        fill_batch(BATCH);
        batches++;
    } while (publish_within(5000) == 0);
    return batches;
}

/* The stream never gets more of the failed batches than it held when the server came back: neither
 * the old connection nor the new one sends anything more of them. */
TEST(what_was_given_up_is_never_stored_after_a_restart)
{
    uint64_t found;
    int status;
    pid_t killer;

    for (int round = 0; round < 3; round++) {
        killer = kill_server_behind(100);
        (void)publish_until_it_fails();
        assert_int_equal(waitpid(killer, &status, 0), killer);
        assert_int_equal(status, 0);
        disconnect_reader();
        services("start", "nats");
        connect_reader();
        found = stored(stream);
        wait_until_ready();
        fill_batch(10);
        publish();
        assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 10);
        assert_int_equal(stored(stream), found + 10);
        assert_int_equal(js_PurgeStream(context, stream, NULL, NULL), NATS_OK);
    }
}

TEST(a_server_that_is_killed_ends_the_wait_for_its_acknowledgements_at_once)
{
    int64_t started_ms = clock_now_ms();

    fill_batch(BATCH);
    services("pause", "nats");
    broker_send(broker, &batch, SINK, clock_now_ms() + 5000);
    services("kill", "nats");
    assert_int_equal(broker_await(broker, &batch, SINK, started_ms + 60000, &error), -1);
    assert_says(&error, "connection lost");
    assert_true(clock_now_ms() - started_ms < 30000);
    disconnect_reader();
    services("start", "nats");
    connect_reader();
    wait_until_ready();
    assert_true(stored(stream) <= BATCH);
}

TEST(a_silent_server_ends_the_wait_at_the_deadline)
{
    int64_t started_ms;

    services("pause", "nats");
    fill_batch(BATCH);
    started_ms = clock_now_ms();
    assert_int_equal(publish_within(500), -1);
    assert_true(clock_now_ms() - started_ms < 500 + SLACK_MS);
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), BATCH);
    assert_says(&error, "500 messages were not acknowledged (no valid answer in time)");
    services("resume", "nats");
    wait_until_ready();
    publish();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), BATCH);
    assert_int_equal(stored(stream), BATCH);
}

/* Acknowledgements are on their way while the batch's memory is used again. */
TEST(acknowledgements_that_arrive_late_change_no_later_batch)
{
    for (int round = 0; round < 40; round++) {
        wait_until_ready();
        fill_batch(BATCH);
        (void)publish_within(round % 4);
        assert_int_equal(
            count_verdicts(&batch, VERDICT_SENT) + count_verdicts(&batch, VERDICT_PENDING), BATCH);
    }
    wait_until_ready();
    publish();
}

TEST_WITH(the_printed_command_works_without_an_allow_list_too, NULL, teardown)
{
    char expected[96];
    struct findings findings;

    assert_int_equal(findings_init(&findings), 0);
    (void)open_broker(state);
    assert_int_equal(broker_ready(broker, &error), -1);
    (void)snprintf(expected, sizeof expected, "--subjects '%s.>' ", stream);
    assert_non_null(strstr(error.hint, expected));
    assert_says(&error, "so write your own in place of");
    assert_int_equal(broker_inspect(broker, "orders.new", &findings, &error), -1);
    assert_non_null(strstr(error.hint, "--subjects 'orders.new' "));
    allow(&options, "re:^orders");
    assert_int_equal(broker_inspect(broker, "orders.new", &findings, &error), -1);
    assert_non_null(strstr(error.hint, "--subjects 'orders.new' "));
    findings_free(&findings);
}

TEST_WITH(a_stream_that_never_acknowledges_is_refused, NULL, teardown)
{
    jsStreamConfig config;

    (void)open_broker(state);
    (void)jsStreamConfig_Init(&config);
    config.NoAck = true;
    add_stream(stream, &config, subject_of(">"));
    assert_int_equal(broker_ready(broker, &error), -1);
    assert_int_equal(error.kind, ERROR_PERMANENT);
    assert_says(&error, "no_ack");
}

TEST_WITH(a_weak_stream_is_warned_about, NULL, teardown)
{
    struct findings findings;
    char fix[128];
    jsStreamConfig config;

    (void)open_broker(state);
    (void)jsStreamConfig_Init(&config);
    config.Storage = js_MemoryStorage;
    config.Duplicates = 1000000000;
    config.AllowRollup = true;
    config.Retention = js_InterestPolicy;
    config.MaxBytes = 1000000;
    add_stream(stream, &config, subject_of(">"));
    assert_int_equal(findings_init(&findings), 0);
    assert_int_equal(broker_inspect(broker, subject_of("a"), &findings, &error), 0);
    assert_int_equal(findings.count, 0); /* they are the stream's, whatever the subject */
    assert_int_equal(broker_inspect(broker, NULL, &findings, &error), 0);
    assert_true(found(&findings, "memory storage", "--storage file"));
    assert_true(found(&findings, "1 replica", " --replicas 3"));
    (void)snprintf(fix, sizeof fix, "nats stream edit %s --dupe-window %llds", stream,
                   2 * options.publish_timeout_ms / 1000LL);
    assert_true(found(&findings, "duplicate window of 1000 ms", fix));
    assert_true(found(&findings, "allow_rollup", ""));
    assert_true(found(&findings, "retention", ""));
    assert_true(found(&findings, "max_bytes = 1000000 with discard \"old\"", " --discard new"));
    findings_free(&findings);
}

TEST(a_subject_that_the_stream_does_not_take_is_reported)
{
    struct findings findings;

    assert_int_equal(findings_init(&findings), 0);
    assert_int_equal(broker_inspect(broker, "else.where", &findings, &error), -1);
    assert_says(&error, "has no subject that matches \"else.where\"");
    assert_int_equal(broker_inspect(broker, "not a subject", &findings, &error), -1);
    assert_says(&error, "invalid subject");
    findings_free(&findings);
}

static const char two_users[] = "jetstream {store_dir: js}\n"
                                "authorization { users: [\n"
                                "  {user: admin, password: admin}\n"
                                "  {user: relay, password: s3cret, permissions: {\n"
                                "    publish: {allow: [\"in.>\", \"$JS.API.STREAM.INFO.*\"]},\n"
                                "    subscribe: {allow: [\"_INBOX.>\"]}}}\n"
                                "]}\n";

static void add_own_stream(void)
{
    const char *subjects[] = {"in.x", "out.x"}; /* "*.x" holds "$JS.x", which new servers refuse */
    jsStreamConfig config;

    connect_own("admin");
    (void)jsStreamConfig_Init(&config);
    config.Name = stream;
    config.Subjects = subjects;
    config.SubjectsLen = 2;
    assert_int_equal(js_AddStream(NULL, context, &config, NULL, NULL), NATS_OK);
}

TEST_WITH(a_password_is_read_anew_and_a_forbidden_subject_waits, NULL, teardown)
{
    char secret_path[128];

    (void)open_broker(state);
    start_own_server(two_users);
    (void)snprintf(secret_path, sizeof secret_path, "%s/secret", own_folder);
    options.servers.items[0] = own_url;
    options.username = "relay";
    options.password_file = secret_path;
    write_own_file("secret", "wrong\n");
    assert_int_equal(broker_ready(broker, &error), -1);
    assert_int_equal(error.kind, ERROR_PERMANENT);
    assert_null(strstr(error.text, "wrong"));
    write_own_file("secret", "s3cret\n");
    assert_int_equal(broker_ready(broker, &error), -1);
    assert_says(&error, "there is no such stream");
    add_own_stream();
    assert_int_equal(broker_ready(broker, &error), 0);
    for (int i = 0; i < 20; i++)
        (void)add_message(&batch, i % 2 == 0 ? "in.x" : "out.x", NULL, "x");
    publish_quickly();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 10);
    assert_int_equal(count_verdicts(&batch, VERDICT_WAIT), 10);
    assert_refused(&batch.messages[1], VERDICT_WAIT, "not permitted to publish to \"out.x\"");
    stop_own_server();
}

/* The payload looks like protocol lines: the server would obey them if they followed a message that
 * was cut short. */
static void fill_with_lines(char *payload, size_t len, int row)
{
    char line[64];
    size_t line_len =
        (size_t)snprintf(line, sizeof line, "\r\nPUB in.x 5\r\nrow%02d\r\nPING\r\n", row);

    for (size_t i = 0; i < len; i++)
        payload[i] = line[i % line_len];
}

static void assert_stored_as_sent(uint64_t sequence, char *const *payloads, const size_t *lens)
{
    natsMsg *found = read_back(sequence);
    const char *id = NULL;
    long row;

    assert_int_equal(natsMsgHeader_Get(found, "id", &id), NATS_OK);
    row = strtol(id + strlen("row-"), NULL, 10);
    assert_int_equal(natsMsg_GetDataLength(found), lens[row]);
    assert_memory_equal(natsMsg_GetData(found), payloads[row], lens[row]);
    natsMsg_Destroy(found);
}

#define ROWS 60

/* Writes are given up in the middle of a message, again and again. */
TEST_WITH(after_interrupted_writes_every_stored_message_equals_its_row, NULL, teardown)
{
    int64_t deadline_ms = clock_now_ms() + 2 * WAIT_MS;
    char *payloads[ROWS];
    size_t lens[ROWS];
    char ids[ROWS][16];
    int failed = 0;
    uint64_t count;

    (void)open_broker(state);
    start_own_server(two_users);
    add_own_stream();
    options.servers.items[0] = own_url;
    options.username = "admin";
    options.password = "admin";
    options.publish_timeout_ms = 400;
    for (int i = 0; i < ROWS; i++) {
        lens[i] = 200000 + (size_t)i * 12345;
        payloads[i] = malloc(lens[i]);
        assert_non_null(payloads[i]);
        fill_with_lines(payloads[i], lens[i], i);
        (void)snprintf(ids[i], sizeof ids[i], "row-%d", i);
        set_payload(add_message(&batch, "in.x", NULL, NULL), payloads[i], lens[i]);
        batch.messages[i].event_id = text_of(ids[i]);
    }
    do {
        bool paused = failed < 5;

        wait_until_ready();
        if (paused)
            pause_own_server();
        options.publish_timeout_ms = paused ? 400 : WAIT_MS;
        failed += publish_within(options.publish_timeout_ms) < 0;
        assert_int_equal(count_verdicts(&batch, VERDICT_REJECTED), 0);
        if (paused)
            assert_int_equal(kill(own_server, SIGCONT), 0);
    } while (count_verdicts(&batch, VERDICT_SENT) < ROWS && clock_left_ms(deadline_ms) > 0);
    assert_true(failed >= 5);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), ROWS);
    count = stored(stream);
    assert_int_equal(count, ROWS);
    for (uint64_t sequence = 1; sequence <= count; sequence++)
        assert_stored_as_sent(sequence, payloads, lens);
    assert_false(own_log_says("parser"));
    for (int i = 0; i < ROWS; i++)
        free(payloads[i]);
    stop_own_server();
}

/* The socket buffers are full after a few of these, and then each write waits for its deadline. */
TEST_WITH(a_stuck_server_costs_no_more_than_the_publish_timeout, NULL, teardown)
{
    size_t len = 900000;
    char *payload = calloc(1, len);
    int64_t started_ms;

    (void)open_broker(state);
    assert_non_null(payload);
    start_own_server(two_users);
    add_own_stream();
    options.servers.items[0] = own_url;
    options.username = "admin";
    options.password = "admin";
    options.publish_timeout_ms = 1000;
    assert_int_equal(broker_ready(broker, &error), 0);
    for (int i = 0; i < 40; i++)
        set_payload(add_message(&batch, "in.x", NULL, NULL), payload, len);
    pause_own_server();
    started_ms = clock_now_ms();
    assert_int_equal(publish_within(options.publish_timeout_ms), -1);
    assert_in_range(clock_now_ms() - started_ms, 0, 1000 + SLACK_MS);
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), 40);
    assert_int_equal(kill(own_server, SIGCONT), 0);
    options.publish_timeout_ms = WAIT_MS;
    publish_reconnecting();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 40);
    assert_int_equal(stored(stream), 40);
    free(payload);
    stop_own_server();
}

TEST(an_error_names_the_server_in_use)
{
    broker_close(broker);
    options.servers = (struct text_list){
        .items = {"nats://127.0.0.1:1", (char *)(uintptr_t)server_url()}, .count = 2};
    broker = broker_open(&options, NULL, &error);
    assert_non_null(broker);
    assert_int_equal(broker_ready(broker, &error), 0);
    services("pause", "nats");
    fill_batch(1);
    assert_int_equal(publish_within(100), -1);
    services("resume", "nats");
    assert_says(&error, server_url());
    assert_null(strstr(error.text, "127.0.0.1:1:"));
}

/* One signature of 256 begins with a zero byte, which nats.c before 3.8 does not send. */
TEST_WITH(a_login_that_signs_succeeds_every_time, NULL, teardown)
{
    char folder[] = "/tmp/test_signed.XXXXXX";
    char config[256], nkey[80], seed_path[64], command[96];
    FILE *file;

    (void)open_broker(state);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(command, sizeof command, "python3 tests/support/nats_logins.py %s", folder);
    assert_int_equal(system(command), 0);
    (void)snprintf(seed_path, sizeof seed_path, "%s/relay.pub", folder);
    file = fopen(seed_path, "r");
    assert_non_null(file);
    assert_non_null(fgets(nkey, sizeof nkey, file));
    (void)fclose(file);
    (void)snprintf(seed_path, sizeof seed_path, "%s/relay.nk", folder);
    (void)snprintf(config, sizeof config,
                   "jetstream {store_dir: js}\n"
                   "authorization { users: [{user: admin, password: admin}, {nkey: %s}] }\n",
                   nkey);
    start_own_server(config);
    add_own_stream();
    options.servers.items[0] = own_url;
    options.nkey = nkey;
    options.nkey_file = seed_path;
    for (int i = 0; i < 1000; i++) {
        broker_close(broker);
        broker = broker_open(&options, NULL, &error);
        assert_non_null(broker);
        if (broker_ready(broker, &error) != 0)
            fail_msg("login %d: %s", i, error.text);
    }
    stop_own_server();
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}
