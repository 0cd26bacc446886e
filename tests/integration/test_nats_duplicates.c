#include "integration/capture.h"
#include "integration/nats_fixture.h"

ONCE(NULL, close_library)

FIXTURE(NULL, teardown)

/*
 * A stream that has had the event_id: the same event is sent, another one is rejected, and a
 * message that cannot be fetched is taken for a repeat, with one warning a connection.
 */

#define ID "5f0c1d52-0000-4000-8000-000000000001"

static char all_bytes[256];

/* The event of most tests, with every part that can differ. */
static struct message *add_event(void)
{
    static struct header headers[] = {{{"trace", 5}, {"a b", 3}}, {{"empty", 5}, {"", 0}}};
    struct message *message = add_message(&batch, subject_of("in"), "key \xc3\xa4", NULL);

    for (int i = 0; i < 256; i++)
        all_bytes[i] = (char)i;
    set_payload(message, all_bytes, sizeof all_bytes);
    message->event_id = text_of(ID);
    message->type = text_of("created");
    message->created_at = text_of("2026-01-02T03:04:05Z");
    message->headers = headers;
    message->header_count = 2;
    return message;
}

static void send_event(void)
{
    batch_reset(&batch);
    (void)add_event();
    publish_quickly();
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    batch_reset(&batch);
}

/* ---- the same, or another ---- */

TEST_WITH(an_event_with_nothing_but_an_id_is_compared_as_well, setup, teardown)
{
    for (int i = 0; i < 2; i++) {
        batch_reset(&batch);
        (void)add_message(&batch, subject_of("none"), NULL, NULL);
        (void)add_message(&batch, subject_of("empty"), "", "");
        publish_quickly();
        assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 2);
    }
    assert_int_equal(stored(stream), 2);
}

TEST_WITH(the_largest_event_is_compared_as_well, setup, teardown)
{
    size_t len = (size_t)broker_payload_max(broker) - 512;
    char *payload = malloc(len);

    assert_non_null(payload);
    for (size_t i = 0; i < len; i++)
        payload[i] = (char)(i * 31);
    for (int i = 0; i < 3; i++) {
        batch_reset(&batch);
        payload[len - 1] = (char)(payload[len - 1] + (i == 2));
        set_payload(add_message(&batch, subject_of("in"), NULL, NULL), payload, len);
        publish();
        assert_int_equal(batch.messages[0].verdict, i == 2 ? VERDICT_REJECTED : VERDICT_SENT);
    }
    free(payload);
}

static void assert_collides(const struct message *message, int sequence)
{
    char reason[128];

    (void)snprintf(reason, sizeof reason,
                   "event_id collides with another event (stream %s, sequence %d)", stream,
                   sequence);
    assert_refused(message, VERDICT_REJECTED, reason);
}

/* Each part of an event, changed alone. */
static void change_subject(struct message *message)
{
    message->destination = text_of(subject_of("IN"));
}

static void change_payload(struct message *message)
{
    all_bytes[255] = 'x';
    message->payload.data = all_bytes;
}

static void shorten_payload(struct message *message)
{
    message->payload.len--;
    message->payload_len--;
}

static void drop_payload(struct message *message)
{
    set_payload(message, NULL, 0);
}

static void change_key(struct message *message)
{
    message->route_key = text_of("key \xc3\x84");
}

static void drop_key(struct message *message)
{
    message->route_key = text_of(NULL);
}

static void change_type(struct message *message)
{
    message->type = text_of("created2");
}

static void change_time(struct message *message)
{
    message->created_at = text_of("2026-01-02T03:04:06Z");
}

static void drop_header(struct message *message)
{
    message->header_count = 1;
}

static void add_header(struct message *message)
{
    static struct header headers[] = {
        {{"trace", 5}, {"a b", 3}}, {{"empty", 5}, {"", 0}}, {{"more", 4}, {"", 0}}};

    message->headers = headers;
    message->header_count = 3;
}

static void rename_header(struct message *message)
{
    static struct header headers[] = {{{"Trace", 5}, {"a b", 3}}, {{"empty", 5}, {"", 0}}};

    message->headers = headers;
}

static void change_header(struct message *message)
{
    static struct header headers[] = {{{"trace", 5}, {"a  b", 4}}, {{"empty", 5}, {"", 0}}};

    message->headers = headers;
}

TEST_WITH(another_event_with_the_same_id_is_rejected, setup, teardown)
{
    static void (*const changes[])(struct message *) = {change_subject, change_key, drop_key,
                                                        change_time};
    uint64_t id = client_id();

    send_event();
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        batch_reset(&batch);
        changes[i](add_event());
        publish_quickly();
        assert_collides(&batch.messages[0], 1);
    }
    send_event();
    assert_int_equal(client_id(), id);
    assert_int_equal(stored(stream), 1);
}

/* The values of an event may be others when they are computed again. */
TEST_WITH(an_event_whose_values_differ_is_a_repeat, setup, teardown)
{
    static const struct {
        void (*change)(struct message *);
        const char *differs; /* NULL: a line of this minute has said it */
    } cases[] = {{change_payload, "its payload differs"},
                 {shorten_payload, NULL},
                 {drop_payload, NULL},
                 {change_type, "its type differs"},
                 {drop_header, "its empty differs"},
                 {add_header, "its number of headers differs"},
                 {rename_header, "its trace differs"},
                 {change_header, NULL}};

    send_event();
    batch.event_ids = EVENT_IDS_DISTINCT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        batch_reset(&batch);
        cases[i].change(add_event());
        capture_stderr();
        publish_quickly();
        expect_in_stderr(cases[i].differs != NULL ? cases[i].differs : "differs",
                         cases[i].differs != NULL);
        assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    }
}

/* With the same subject and key: the id says it, or the id and created_at. */
TEST_WITH(another_payload_is_a_repeat_only_where_no_other_row_can_have_the_id, setup, teardown)
{
    static const struct {
        enum event_ids ids;
        bool has_time;
        enum verdict verdict;
    } cases[] = {
        {EVENT_IDS_FRESH, true, VERDICT_SENT},        {EVENT_IDS_FRESH, false, VERDICT_SENT},
        {EVENT_IDS_DISTINCT, true, VERDICT_SENT},     {EVENT_IDS_DISTINCT, false, VERDICT_REJECTED},
        {EVENT_IDS_COINCIDE, true, VERDICT_REJECTED}, {EVENT_IDS_COINCIDE, false, VERDICT_REJECTED},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int sent = 0; sent < 2; sent++) {
            struct message *message;
            char id[32];

            batch_reset(&batch);
            message = add_message(&batch, subject_of("in"), "k", sent == 0 ? "x" : "y");
            (void)snprintf(id, sizeof id, "shared-%zu", i);
            message->event_id = batch_copy(&batch, id, strlen(id));
            if (cases[i].has_time)
                message->created_at = text_of("2026-01-02T03:04:05Z");
            batch.event_ids = cases[i].ids;
            publish_quickly();
        }
        assert_int_equal(batch.messages[0].verdict, cases[i].verdict);
    }
}

TEST_WITH(equal_ids_within_a_batch_are_compared_too, setup, teardown)
{
    (void)add_message(&batch, subject_of("first"), NULL, "x");
    (void)add_event();
    (void)add_event();
    change_key(add_event());
    (void)add_message(&batch, subject_of("last"), NULL, "x");
    publish_quickly();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 4);
    assert_collides(&batch.messages[3], 2);
    assert_int_equal(stored(stream), 3);
}

/* As after a crash: the whole batch again, with news and a collision in it. */
TEST_WITH(a_repeated_batch_is_compared_row_by_row, setup, teardown)
{
    static const int repeated = 200;

    for (int round = 0; round < 2; round++) {
        batch_reset(&batch);
        for (int i = 0; i < repeated; i++)
            (void)add_message(&batch, subject_of("in"), round == 1 && i % 100 == 7 ? "l" : "k",
                              "x");
        for (int i = 0; round == 1 && i < 10; i++)
            (void)add_message(&batch, subject_of("new"), "k", "x");
        publish();
    }
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), repeated + 10 - 2);
    assert_collides(&batch.messages[7], 8);
    assert_collides(&batch.messages[107], 108);
    assert_int_equal(stored(stream), repeated + 10);
}

/* ---- not to be fetched ---- */

TEST_WITH(a_deleted_message_is_taken_for_a_repeat_with_one_warning, setup, teardown)
{
    for (int i = 0; i < 3; i++)
        (void)add_message(&batch, subject_of("in"), NULL, "x");
    publish_quickly();
    assert_int_equal(js_PurgeStream(context, stream, NULL, NULL), NATS_OK);
    capture_stderr();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++)
            batch.messages[i].verdict = VERDICT_PENDING;
        publish_quickly();
        assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 3);
    }
    expect_in_stderr("treated as a repeat", 1);
    assert_int_equal(stored(stream), 0);
}

TEST(a_consumed_message_of_a_work_queue_is_taken_for_a_repeat)
{
    natsSubscription *worker = NULL;
    natsMsg *work = NULL;
    jsStreamConfig config;

    (void)open_broker(state);
    (void)jsStreamConfig_Init(&config);
    config.Retention = js_WorkQueuePolicy;
    use_stream(&config);
    send_event();
    assert_int_equal(js_SubscribeSync(&worker, context, subject_of("in"), NULL, NULL, NULL),
                     NATS_OK);
    assert_int_equal(natsSubscription_NextMsg(&work, worker, WAIT_MS), NATS_OK);
    assert_int_equal(natsMsg_AckSync(work, NULL, NULL), NATS_OK);
    assert_int_equal(stored(stream), 0);
    capture_stderr();
    send_event();
    expect_in_stderr("treated as a repeat", 1);
    natsMsg_Destroy(work);
    natsSubscription_Destroy(worker);
}

/* For such a repeat the server answers with sequence number 0. */
TEST(a_message_that_no_consumer_wanted_is_taken_for_a_repeat)
{
    jsStreamConfig config;

    (void)open_broker(state);
    (void)jsStreamConfig_Init(&config);
    config.Retention = js_InterestPolicy;
    use_stream(&config);
    capture_stderr();
    send_event();
    send_event();
    expect_in_stderr("treated as a repeat", 1);
    assert_int_equal(stored(stream), 0);
}

static const char fetch_forbidden[] =
    "jetstream {store_dir: js}\n"
    "authorization { users: [\n"
    "  {user: admin, password: admin}\n"
    "  {user: relay, password: relay, permissions: {\n"
    "    publish: [\"*.in\", \"$JS.API.STREAM.INFO.*\"], subscribe: [\"_INBOX.>\"]}}]}\n";

TEST(without_permission_to_fetch_it_is_taken_for_a_repeat)
{
    jsStreamConfig config;
    uint64_t id;

    open_own(state, fetch_forbidden, "relay");
    (void)jsStreamConfig_Init(&config);
    use_stream(&config);
    id = client_id();
    capture_stderr();
    for (int round = 0; round < 3; round++) {
        batch_reset(&batch);
        for (int i = 0; i < 50; i++)
            (void)add_message(&batch, subject_of("in"), NULL, "x");
        publish_quickly();
        assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 50);
    }
    expect_in_stderr("treated as a repeat", 1);
    assert_int_equal(client_id(), id);
    assert_int_equal(stored(stream), 50);
    stop_own_server();
}

/* ---- a service in the stream's place, which acknowledges and then has nothing to say ---- */

static natsSubscription *services_of[3];

static void serve(int at, const char *subject, char *answer)
{
    assert_int_equal(
        natsConnection_Subscribe(&services_of[at], connection, subject, on_request, answer),
        NATS_OK);
    assert_int_equal(natsConnection_Flush(connection), NATS_OK);
}

static char info_answer[256];
static char ack_answer[96];

static void open_service(void **state)
{
    (void)open_broker(state);
    start_own_server("");
    disconnect_reader();
    assert_int_equal(natsConnection_ConnectTo(&connection, own_url), NATS_OK);
    options.servers.items[0] = own_url;
    (void)snprintf(info_answer, sizeof info_answer,
                   "{\"config\":{\"name\":\"%s\",\"subjects\":[\"in\"],\"retention\":\"limits\","
                   "\"storage\":\"file\"},\"created\":\"2026-01-01T00:00:00Z\",\"state\":{}}",
                   stream);
    (void)snprintf(ack_answer, sizeof ack_answer,
                   "{\"stream\":\"%s\",\"seq\":17,\"duplicate\":true}", stream);
    serve(0, "$JS.API.STREAM.INFO.*", info_answer);
    serve(1, "in", ack_answer);
    wait_until_ready();
    (void)add_message(&batch, "in", NULL, "x");
    (void)add_message(&batch, "in", NULL, "x");
}

static void close_service(void)
{
    for (int i = 0; i < 3; i++) {
        natsSubscription_Destroy(services_of[i]);
        services_of[i] = NULL;
    }
    stop_own_server();
}

static void swallow_fetches(void)
{
    assert_int_equal(
        natsConnection_SubscribeSync(&services_of[2], connection, "$JS.API.STREAM.MSG.GET.*"),
        NATS_OK);
    assert_int_equal(natsConnection_Flush(connection), NATS_OK);
}

TEST(a_duplicate_that_cannot_be_compared_in_time_stays_pending)
{
    open_service(state);
    swallow_fetches();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(publish_within(300), -1);
        assert_says(&error, "2 messages were not acknowledged");
        assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), 2);
        wait_until_ready();
    }
    close_service();
}

/* Otherwise the messages would stay pending for ever. */
TEST(a_server_that_never_answers_is_asked_on_two_connections)
{
    open_service(state);
    swallow_fetches();
    assert_int_equal(publish_within(QUICK_MS), -1);
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), 2);
    wait_until_ready();
    capture_stderr();
    publish_quickly();
    expect_in_stderr("treated as a repeat", 1);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 2);
    close_service();
}

static void publish_to_service(char *answer)
{
    serve(2, "$JS.API.STREAM.MSG.GET.*", answer);
    batch.messages[0].verdict = VERDICT_PENDING;
    batch.messages[1].verdict = VERDICT_PENDING;
    publish_quickly();
    natsSubscription_Destroy(services_of[2]);
    services_of[2] = NULL;
    assert_int_equal(natsConnection_Flush(connection), NATS_OK);
}

TEST(an_answer_without_a_message_is_taken_for_a_repeat)
{
    static char *const answers[] = {
        "", "{}", "+OK", "{\"error\":{\"code\":503,\"err_code\":10008,\"description\":\"busy\"}}"};

    open_service(state);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        publish_to_service(answers[i]);
        assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 2);
    }
    close_service();
}

/* A stream that was deleted and created again may hold another message under that number. */
TEST(a_stored_message_with_another_id_proves_nothing)
{
    static char *const answers[] = {
        "{\"message\":{}}",
        "{\"message\":{\"subject\":\"in\",\"data\":\"eA==\"}}",
        "{\"message\":{\"subject\":\"in\",\"data\":\"eA==\",\"hdrs\":\"////\"}}",
        "{\"message\":{\"subject\":\"in\",\"data\":\"eA==\",\"hdrs\":\"TkFUUy8xLjANCg==\"}}",
        "{\"message\":{\"subject\":\"in\",\"data\":\"eA==\",\"hdrs\":\"TkFUUy8xLjANCmlkDQo=\"}}",
        "{\"message\":{\"subject\":7,\"data\":[],\"hdrs\":null}}"};

    open_service(state);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        publish_to_service(answers[i]);
        assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 2);
    }
    close_service();
}

/* The stored message has the first message's id and nothing else of it. */
TEST(a_stored_message_with_nothing_but_the_id_is_another_event)
{
    static char answer[] =
        "{\"message\":{\"subject\":\"in\",\"data\":\"eA==\",\"hdrs\":\""
        "TkFUUy8xLjANCk5hdHMtTXNnLUlkOiAwMDAwMDAwMC0wMDAwLTQwMDAtODAwMC0wMDAwMDAwMDAwMDENCg0K"
        "\"}}";

    open_service(state);
    publish_to_service(answer);
    assert_collides(&batch.messages[0], 17);
    assert_int_equal(batch.messages[1].verdict, VERDICT_SENT);
    close_service();
}
