#include "integration/publishing.h"

#include <jansson.h>
#include <nats/nats.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Against the real nats-server at $TEST_NATS_URL; what is published is read back by a client of the
 * test's own. Each test has a stream of its own, which takes "PREFIX.>".
 */

#define BATCH 500

static natsConnection *connection;
static jsCtx *context;
static char stream[32];
static char prefix[32];
static int number;

static const char *server_url(void)
{
    const char *url = getenv("TEST_NATS_URL");

    if (url == NULL)
        fail_msg("TEST_NATS_URL is not set: run this through tests/support/services");
    return url;
}

static void services(const char *verb)
{
    char command[128];

    (void)snprintf(command, sizeof command, "tests/support/services %s nats", verb);
    assert_int_equal(system(command), 0);
}

static void connect_reader(void)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;
    natsStatus status;

    do
        status = natsConnection_ConnectTo(&connection, server_url());
    while (status != NATS_OK && clock_left_ms(deadline_ms) > 0);
    assert_int_equal(status, NATS_OK);
    assert_int_equal(natsConnection_JetStream(&context, connection, NULL), NATS_OK);
}

static void disconnect_reader(void)
{
    jsCtx_Destroy(context);
    natsConnection_Destroy(connection);
    context = NULL;
    connection = NULL;
}

static void add_stream(const char *name, jsStreamConfig *config, const char *subject)
{
    const char *subjects[] = {subject};

    config->Name = name;
    config->Subjects = subjects;
    config->SubjectsLen = 1;
    assert_int_equal(js_AddStream(NULL, context, config, NULL, NULL), NATS_OK);
}

static void delete_stream(const char *name)
{
    assert_int_equal(js_DeleteStream(context, name, NULL, NULL), NATS_OK);
}

static uint64_t stored(const char *name)
{
    jsStreamInfo *info = NULL;
    uint64_t count;

    assert_int_equal(js_GetStreamInfo(&info, context, name, NULL, NULL), NATS_OK);
    count = info->State.Msgs;
    jsStreamInfo_Destroy(info);
    return count;
}

/* The stream's message of this number; numbers begin at 1. */
static natsMsg *read_back(uint64_t sequence)
{
    natsMsg *found = NULL;

    assert_int_equal(js_GetMsg(&found, context, stream, sequence, NULL, NULL), NATS_OK);
    return found;
}

static char *subject_of(const char *rest)
{
    struct text copy;
    char subject[128];

    (void)snprintf(subject, sizeof subject, "%s.%s", prefix, rest);
    copy = batch_copy(&batch, subject, strlen(subject));
    assert_non_null(copy.data);
    return (char *)(uintptr_t)copy.data;
}

static int open_broker(void **state)
{
    (void)state;
    number++;
    (void)snprintf(stream, sizeof stream, "S%d-%d", (int)getpid(), number);
    (void)snprintf(prefix, sizeof prefix, "t%d", number);
    options = sink_of_type("nats");
    options.servers = (struct text_list){.items = {(char *)(uintptr_t)server_url()}, .count = 1};
    options.stream = stream;
    connect_reader();
    broker = broker_open(&options, &error);
    return broker == NULL ? -1 : batch_init(&batch, BATCH);
}

static int setup(void **state)
{
    jsStreamConfig config;

    if (open_broker(state) != 0)
        return -1;
    (void)jsStreamConfig_Init(&config);
    add_stream(stream, &config, subject_of(">"));
    return broker_ready(broker, &error);
}

static int teardown(void **state)
{
    (void)state;
    broker_close(broker);
    batch_free(&batch);
    (void)js_DeleteStream(context, stream, NULL, NULL);
    disconnect_reader();
    allow_nothing_more(&options);
    return 0;
}

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

static void decode_base64(const char *text, char *out, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = 0;
    size_t len = 0;

    for (int i = 0; text[i] != '\0' && text[i] != '=' && len + 1 < size; i++) {
        bits = bits << 6 | (unsigned)(strchr(digits, text[i]) - digits);
        if (i % 4 > 0)
            out[len++] = (char)(bits >> (6 - 2 * (i % 4)) & 0xFF);
    }
    out[len] = '\0';
}

/* As the server holds it: nats.c 3.4 cannot read a header whose value is empty. */
static void assert_raw_header(int sequence, const char *line)
{
    natsMsg *reply = NULL;
    char subject[96];
    char request[32];
    char raw[1024];
    json_t *root;

    (void)snprintf(subject, sizeof subject, "$JS.API.STREAM.MSG.GET.%s", stream);
    (void)snprintf(request, sizeof request, "{\"seq\":%d}", sequence);
    assert_int_equal(natsConnection_RequestString(&reply, connection, subject, request, WAIT_MS),
                     NATS_OK);
    root = json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0, NULL);
    decode_base64(json_string_value(json_object_get(json_object_get(root, "message"), "hdrs")), raw,
                  sizeof raw);
    json_decref(root);
    natsMsg_Destroy(reply);
    if (strstr(raw, line) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", line, raw);
}

static void a_message_arrives_with_all_its_parts(void **state)
{
    struct header headers[] = {{text_of("trace"), text_of("abc")}, {text_of("x.y"), text_of("0")}};
    struct message *message = add_message(&batch, subject_of("order"), "key 1", "{\"n\":1}");
    natsMsg *found;

    (void)state;
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

static void what_is_null_makes_no_header(void **state)
{
    natsMsg *found;

    (void)state;
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

static void a_payload_up_to_the_servers_limit_arrives_whole(void **state)
{
    size_t len = (size_t)broker_payload_max(broker) - 512;
    char *payload = malloc(len);
    natsMsg *found;

    (void)state;
    assert_non_null(payload);
    for (size_t i = 0; i < len; i++)
        payload[i] = (char)(i * 31);
    set_payload(add_message(&batch, subject_of("large"), NULL, NULL), payload, len);
    publish();
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    found = read_back(1);
    assert_int_equal(natsMsg_GetDataLength(found), len);
    assert_memory_equal(natsMsg_GetData(found), payload, len);
    natsMsg_Destroy(found);
    free(payload);
}

static void what_can_never_be_sent_is_rejected_and_harms_no_neighbour(void **state)
{
    static const char *const subjects[] = {"",       ".",        "a..b",
                                           "a b",    "a\tb",     "a\r\nPING",
                                           "a.*",    "a.>",      "$JS.API.STREAM.PURGE.S",
                                           "$SYS.x", "_INBOX.x", "\x80"};
    struct header injected = {text_of("Nats-Rollup"), text_of("all")};
    struct header broken = {text_of("a"), {"1\r\nNats-Rollup: all", 19}};
    struct header own = {text_of("id"), text_of("x")};
    struct header *headers[] = {&injected, &broken, &own};
    int rejected = (int)(sizeof subjects / sizeof *subjects);

    (void)state;
    (void)add_message(&batch, subject_of("first"), NULL, "x");
    for (int i = 0; i < rejected; i++)
        (void)add_message(&batch, subjects[i], NULL, "x");
    for (int i = 0; i < 3; i++, rejected++) {
        struct message *message = add_message(&batch, subject_of("header"), NULL, "x");

        message->headers = headers[i];
        message->header_count = 1;
    }
    (void)add_message(&batch, subject_of("key"), "a\r\nNats-Rollup: all", "x");
    add_message(&batch, subject_of("type"), NULL, "x")->type = (struct text){"a\0b", 3};
    (void)add_message(&batch, subject_of("last"), NULL, "x");
    publish_quickly();
    assert_int_equal(count_verdicts(&batch, VERDICT_REJECTED), rejected + 2);
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    assert_int_equal(batch.messages[batch.count - 1].verdict, VERDICT_SENT);
    assert_int_equal(stored(stream), 2);
}

static void a_payload_beyond_the_limit_is_rejected_fetched_or_not(void **state)
{
    size_t len = (size_t)broker_payload_max(broker);
    char *payload = calloc(1, len);
    char *key = calloc(1, 70000);
    struct message *unfetched;

    (void)state;
    assert_non_null(payload);
    assert_non_null(key);
    memset(key, 'k', 69999);
    set_payload(add_message(&batch, subject_of("large"), NULL, NULL), payload, len);
    unfetched = add_message(&batch, subject_of("huge"), NULL, NULL);
    unfetched->payload_len = 200000000;
    (void)add_message(&batch, subject_of("key"), key, "x");
    publish_quickly();
    assert_refused(&batch.messages[0], VERDICT_REJECTED, "larger than max_payload 1048576");
    assert_refused(unfetched, VERDICT_REJECTED, "payload 200000000 bytes");
    assert_refused(&batch.messages[2], VERDICT_REJECTED, "64 KiB");
    free(payload);
    free(key);
}

static void the_allow_list_is_kept(void **state)
{
    struct message *taken;
    struct message *refused;

    (void)state;
    allow(&options, subject_of("in.>"));
    taken = add_message(&batch, subject_of("in.a"), NULL, "x");
    refused = add_message(&batch, subject_of("out"), NULL, "x");
    publish_quickly();
    assert_int_equal(taken->verdict, VERDICT_SENT);
    assert_refused(refused, VERDICT_REJECTED, "allow list");
}

static void a_subject_without_a_stream_waits_while_its_neighbours_are_sent(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++)
        (void)add_message(&batch, i % 2 == 0 ? subject_of("in") : "nowhere.at.all", NULL, "x");
    publish_quickly();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 50);
    assert_int_equal(count_verdicts(&batch, VERDICT_WAIT), 50);
    assert_refused(&batch.messages[1], VERDICT_WAIT, "no stream takes subject");
}

static void a_subject_of_another_stream_waits(void **state)
{
    jsStreamConfig config;

    (void)state;
    (void)jsStreamConfig_Init(&config);
    add_stream("OTHER", &config, "other.>");
    (void)add_message(&batch, "other.a", NULL, "x");
    (void)add_message(&batch, subject_of("in"), NULL, "x");
    publish_quickly();
    assert_refused(&batch.messages[0], VERDICT_WAIT, "expected stream does not match");
    assert_int_equal(batch.messages[1].verdict, VERDICT_SENT);
    assert_int_equal(stored("OTHER"), 0);
    delete_stream("OTHER");
}

static void a_full_stream_lets_messages_wait(void **state)
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
}

static void a_message_larger_than_the_stream_takes_is_rejected(void **state)
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
    assert_refused(&batch.messages[0], VERDICT_REJECTED, "message size exceeds maximum");
}

static void a_repeat_is_sent_but_stored_once(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        batch_reset(&batch);
        (void)add_message(&batch, subject_of("in"), NULL, "x");
        publish_quickly();
        assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    }
    assert_int_equal(stored(stream), 1);
}

static void a_full_batch_keeps_its_order(void **state)
{
    (void)state;
    fill_batch(BATCH);
    publish();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), BATCH);
    assert_int_equal(stored(stream), BATCH);
    for (int i = 0; i < BATCH; i += 50) {
        natsMsg *found = read_back((uint64_t)i + 1);
        struct text id = batch.messages[i].event_id;
        const char *value = NULL;

        assert_int_equal(natsMsgHeader_Get(found, "id", &value), NATS_OK);
        assert_memory_equal(value, id.data, id.len);
        natsMsg_Destroy(found);
    }
}

static void a_killed_server_ends_the_wait_and_nothing_is_published_later(void **state)
{
    int64_t started_ms;

    (void)state;
    fill_batch(10);
    publish();
    services("kill");
    fill_batch(BATCH);
    started_ms = clock_now_ms();
    assert_int_equal(publish_within(5000), -1);
    assert_int_equal(error.kind, ERROR_TRANSIENT);
    assert_true(clock_now_ms() - started_ms < 6000);
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), BATCH);
    assert_int_equal(broker_ready(broker, &error), -1);
    disconnect_reader();
    services("start");
    connect_reader();
    wait_until_ready();
    fill_batch(10);
    publish();
    assert_int_equal(stored(stream), 20);
}

static void a_server_killed_in_mid_wait_ends_it_at_once(void **state)
{
    int64_t started_ms = clock_now_ms();

    (void)state;
    fill_batch(BATCH);
    services("pause");
    broker_send(broker, &batch, SINK);
    services("kill");
    assert_int_equal(broker_await(broker, &batch, SINK, started_ms + 60000, &error), -1);
    assert_says(&error, "connection lost");
    assert_true(clock_now_ms() - started_ms < 30000);
    disconnect_reader();
    services("start");
    connect_reader();
    wait_until_ready();
    assert_true(stored(stream) <= BATCH);
}

static void a_silent_server_ends_the_wait_at_the_deadline(void **state)
{
    int64_t started_ms;

    (void)state;
    services("pause");
    fill_batch(BATCH);
    started_ms = clock_now_ms();
    assert_int_equal(publish_within(500), -1);
    assert_true(clock_now_ms() - started_ms < 1500);
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), BATCH);
    assert_says(&error, "500 messages were not acknowledged (no answer in time)");
    services("resume");
    wait_until_ready();
    publish();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), BATCH);
    assert_int_equal(stored(stream), BATCH);
}

/* Acknowledgements are on their way while the batch's memory is used again. */
static void late_acknowledgements_touch_nothing(void **state)
{
    (void)state;
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

static void a_missing_stream_is_told_with_the_command_that_adds_it(void **state)
{
    (void)open_broker(state);
    allow(&options, subject_of(">"));
    assert_int_equal(broker_ready(broker, &error), -1);
    assert_int_equal(error.kind, ERROR_PERMANENT);
    assert_says(&error, "there is no such stream");
    assert_non_null(strstr(error.hint, "nats stream add"));
    assert_non_null(strstr(error.hint, subject_of(">")));
}

static void the_command_is_usable_without_an_allow_list_as_well(void **state)
{
    char expected[96];
    char warning[512];

    (void)open_broker(state);
    assert_int_equal(broker_ready(broker, &error), -1);
    (void)snprintf(expected, sizeof expected, "--subjects '%s.>' ", stream);
    assert_non_null(strstr(error.hint, expected));
    assert_says(&error, "put yours in the place of");
    assert_int_equal(broker_inspect(broker, "orders.new", warning, sizeof warning, &error), -1);
    assert_non_null(strstr(error.hint, "--subjects 'orders.new' "));
    allow(&options, "re:^orders");
    assert_int_equal(broker_inspect(broker, "orders.new", warning, sizeof warning, &error), -1);
    assert_non_null(strstr(error.hint, "--subjects 'orders.new' "));
}

static void create_adds_the_missing_stream(void **state)
{
    char warning[512];

    (void)open_broker(state);
    allow(&options, subject_of(">"));
    options.create = true;
    assert_int_equal(broker_make(broker, subject_of(">"), &error), 0);
    assert_int_equal(broker_make(broker, subject_of("order"), &error), 0);
    assert_int_equal(broker_ready(broker, &error), 0);
    assert_int_equal(broker_inspect(broker, subject_of("order"), warning, sizeof warning, &error),
                     0);
    delete_stream(stream);
    broker_close(broker);
    broker = broker_open(&options, &error);
    assert_int_equal(broker_ready(broker, &error), 0);
    assert_int_equal(stored(stream), 0);
}

static void a_stream_that_never_acknowledges_is_refused(void **state)
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

static void a_weak_stream_is_warned_about(void **state)
{
    char warning[512];
    jsStreamConfig config;

    (void)open_broker(state);
    (void)jsStreamConfig_Init(&config);
    config.Storage = js_MemoryStorage;
    config.Duplicates = 1000000000;
    config.AllowRollup = true;
    config.Retention = js_InterestPolicy;
    add_stream(stream, &config, subject_of(">"));
    assert_int_equal(broker_inspect(broker, subject_of("a"), warning, sizeof warning, &error), 0);
    assert_non_null(strstr(warning, "memory storage"));
    assert_non_null(strstr(warning, "1 replica"));
    assert_non_null(strstr(warning, "duplicate window of 1000 ms"));
    assert_non_null(strstr(warning, "allow_rollup"));
    assert_non_null(strstr(warning, "retention"));
}

static void a_subject_that_the_stream_does_not_take_is_told(void **state)
{
    char warning[512];

    (void)state;
    assert_int_equal(broker_inspect(broker, "else.where", warning, sizeof warning, &error), -1);
    assert_says(&error, "does not take subject \"else.where\"");
    assert_int_equal(broker_inspect(broker, "not a subject", warning, sizeof warning, &error), -1);
    assert_says(&error, "invalid subject");
}

/* ---- a server of the test's own, with users ---- */

static pid_t own_server;
static char own_folder[64];
static char own_url[64];
static char secret_path[128];

static void write_own_file(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", own_folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The server announces its port in a file of this folder. */
static void read_own_url(void)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;
    char path[160];
    char text[512] = "";
    char *found = NULL;

    (void)snprintf(path, sizeof path, "%s/nats-server_%d.ports", own_folder, (int)own_server);
    while (found == NULL && clock_left_ms(deadline_ms) > 0) {
        FILE *file = fopen(path, "r");

        if (file != NULL) {
            text[fread(text, 1, sizeof text - 1, file)] = '\0';
            (void)fclose(file);
            found = strstr(text, "nats://");
        }
        (void)poll(NULL, 0, 10);
    }
    assert_non_null(found);
    found[strcspn(found, "\"")] = '\0';
    (void)snprintf(own_url, sizeof own_url, "%s", found);
}

static void start_own_server(void)
{
    char config[128];

    (void)snprintf(own_folder, sizeof own_folder, "/tmp/test_nats.XXXXXX");
    assert_non_null(mkdtemp(own_folder));
    (void)snprintf(secret_path, sizeof secret_path, "%s/secret", own_folder);
    (void)snprintf(config, sizeof config, "%s/conf", own_folder);
    write_own_file("conf", "listen: 127.0.0.1:-1\n"
                           "jetstream {store_dir: js}\n"
                           "authorization { users: [\n"
                           "  {user: admin, password: admin}\n"
                           "  {user: relay, password: s3cret, permissions: {\n"
                           "    publish: {allow: [\"in.>\", \"$JS.API.STREAM.INFO.*\"]},\n"
                           "    subscribe: {allow: [\"_INBOX.>\"]}}}\n"
                           "]}\n");
    own_server = fork();
    if (own_server == 0) {
        (void)(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && chdir(own_folder) == 0 &&
               freopen("log", "w", stdout) != NULL && freopen("log", "a", stderr) != NULL &&
               execlp("nats-server", "nats-server", "-c", config, "--ports_file_dir", own_folder,
                      (char *)NULL));
        _exit(127);
    }
    read_own_url();
}

static void stop_own_server(void)
{
    char command[128];

    assert_int_equal(kill(own_server, SIGKILL), 0);
    assert_int_equal(waitpid(own_server, NULL, 0), own_server);
    (void)snprintf(command, sizeof command, "rm -rf %s", own_folder);
    assert_int_equal(system(command), 0);
}

static void add_own_stream(void)
{
    char url[96];
    jsStreamConfig config;

    disconnect_reader();
    (void)snprintf(url, sizeof url, "nats://admin:admin@%s", own_url + strlen("nats://"));
    assert_int_equal(natsConnection_ConnectTo(&connection, url), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&context, connection, NULL), NATS_OK);
    (void)jsStreamConfig_Init(&config);
    add_stream(stream, &config, "*.x");
}

static void a_password_is_read_anew_and_a_forbidden_subject_waits(void **state)
{
    (void)open_broker(state);
    start_own_server();
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

/* Its socket buffers are full after a few of these: then each write waits for its deadline. */
static void a_stuck_server_costs_no_more_than_two_publish_timeouts(void **state)
{
    size_t len = 900000;
    char *payload = calloc(1, len);
    int64_t deadline_ms = clock_now_ms() + 2 * WAIT_MS;
    int64_t started_ms;

    (void)open_broker(state);
    assert_non_null(payload);
    start_own_server();
    add_own_stream();
    options.servers.items[0] = own_url;
    options.username = "admin";
    options.password = "admin";
    options.publish_timeout_ms = 1000;
    assert_int_equal(broker_ready(broker, &error), 0);
    for (int i = 0; i < 40; i++)
        set_payload(add_message(&batch, "in.x", NULL, NULL), payload, len);
    assert_int_equal(kill(own_server, SIGSTOP), 0);
    started_ms = clock_now_ms();
    assert_int_equal(publish_within(options.publish_timeout_ms), -1);
    assert_in_range(clock_now_ms() - started_ms, 0, 2000);
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), 40);
    assert_int_equal(kill(own_server, SIGCONT), 0);
    do
        wait_until_ready();
    while (publish_within(options.publish_timeout_ms) < 0 && clock_left_ms(deadline_ms) > 0);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 40);
    assert_int_equal(stored(stream), 40);
    free(payload);
    stop_own_server();
}

static void an_error_names_the_server_in_use(void **state)
{
    (void)state;
    broker_close(broker);
    options.servers = (struct text_list){
        .items = {"nats://127.0.0.1:1", (char *)(uintptr_t)server_url()}, .count = 2};
    broker = broker_open(&options, &error);
    assert_non_null(broker);
    assert_int_equal(broker_ready(broker, &error), 0);
    services("pause");
    fill_batch(1);
    assert_int_equal(publish_within(100), -1);
    services("resume");
    assert_says(&error, server_url());
    assert_null(strstr(error.text, "127.0.0.1:1:"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_WITHOUT_STREAM(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_message_arrives_with_all_its_parts),
        TEST(what_is_null_makes_no_header),
        TEST(a_payload_up_to_the_servers_limit_arrives_whole),
        TEST(what_can_never_be_sent_is_rejected_and_harms_no_neighbour),
        TEST(a_payload_beyond_the_limit_is_rejected_fetched_or_not),
        TEST(the_allow_list_is_kept),
        TEST(a_subject_without_a_stream_waits_while_its_neighbours_are_sent),
        TEST(a_subject_of_another_stream_waits),
        TEST_WITHOUT_STREAM(a_full_stream_lets_messages_wait),
        TEST_WITHOUT_STREAM(a_message_larger_than_the_stream_takes_is_rejected),
        TEST(a_repeat_is_sent_but_stored_once),
        TEST(a_full_batch_keeps_its_order),
        TEST(a_killed_server_ends_the_wait_and_nothing_is_published_later),
        TEST(a_server_killed_in_mid_wait_ends_it_at_once),
        TEST(a_silent_server_ends_the_wait_at_the_deadline),
        TEST(late_acknowledgements_touch_nothing),
        TEST_WITHOUT_STREAM(a_missing_stream_is_told_with_the_command_that_adds_it),
        TEST_WITHOUT_STREAM(the_command_is_usable_without_an_allow_list_as_well),
        TEST_WITHOUT_STREAM(create_adds_the_missing_stream),
        TEST_WITHOUT_STREAM(a_stream_that_never_acknowledges_is_refused),
        TEST_WITHOUT_STREAM(a_weak_stream_is_warned_about),
        TEST(a_subject_that_the_stream_does_not_take_is_told),
        TEST(an_error_names_the_server_in_use),
        TEST_WITHOUT_STREAM(a_stuck_server_costs_no_more_than_two_publish_timeouts),
        TEST_WITHOUT_STREAM(a_password_is_read_anew_and_a_forbidden_subject_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
