#include "integration/nats_fixture.h"

/* All headers in one call, or one by one: whichever it is, a consumer sees the same. The library is
 * the real one, and where a test says so one that minds what is in a name. */

#define RAW_BYTES (80 * 1024)
#define LINES_MAX 32
#define ID_BYTES 16
#define KINDS 6

natsStatus real_set(natsMsg *message, const char *name,
                    const char *value) __asm__("__real_natsMsgHeader_Set");
natsStatus wrap_set(natsMsg *message, const char *name,
                    const char *value) __asm__("__wrap_natsMsgHeader_Set");

/* What becomes of a name with line ends: it is written as it is, with blanks instead, up to the
 * first, without what is not ASCII, or refused. */
static enum library { WRITES_IT, BLANKS_THEM, ENDS_THERE, MASKS_BYTES, REFUSES_IT } library;
static int calls;

static void change(char *name)
{
    for (char *at = name; *at != '\0'; at++) {
        if (library == MASKS_BYTES && (unsigned char)*at >= 0x80)
            *at = '?';
        else if (library != MASKS_BYTES && (*at == '\r' || *at == '\n'))
            *at = library == BLANKS_THEM ? ' ' : '\0';
    }
}

natsStatus wrap_set(natsMsg *message, const char *name, const char *value)
{
    char changed[1024];

    calls++;
    if (library == WRITES_IT || strpbrk(name, "\r\n") == NULL)
        return real_set(message, name, value);
    if (library == REFUSES_IT)
        return NATS_INVALID_ARG;
    (void)snprintf(changed, sizeof changed, "%s", name);
    change(changed);
    return real_set(message, changed, value);
}

static struct nats *nats(void)
{
    return (struct nats *)broker;
}

static int teardown_headers(void **state)
{
    library = WRITES_IT;
    return teardown(state);
}

/* One of each kind, with the round in its event_id, which is as long in each. */
static void fill_with_all_kinds(int round)
{
    static struct header headers[] = {{{"trace", 5}, {"b\xC3\xBC\x63her", 6}},
                                      {{"empty", 5}, {"", 0}},
                                      {{"x.y", 3}, {"a: b, \"c\"", 9}},
                                      {{"null", 4}, {NULL, 0}}};
    static char large[60 * 1024];
    const struct text keys[KINDS] = {
        {"k", 1}, {NULL, 0}, {"", 0}, {"\xE2\x82\xAC", 3}, {large, sizeof large}, {"a\tb", 3}};

    memset(large, 'x', sizeof large);
    batch_reset(&batch);
    for (int i = 0; i < KINDS; i++) {
        struct message *message = add_message(&batch, subject_of("kinds"), NULL, "x");
        char id[ID_BYTES];

        (void)snprintf(id, sizeof id, "r%d-m%d", round, i);
        message->event_id = batch_copy(&batch, id, strlen(id));
        message->route_key = keys[i];
        message->type = i % 2 == 0 ? text_of("created") : (struct text){NULL, 0};
        message->created_at = text_of("2026-01-02T03:04:05Z");
        message->headers = headers;
        message->header_count = i % 3 == 0 ? 4 : 0;
    }
    publish_quickly();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), KINDS);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The stored message's lines, sorted; of its ids the round is taken out. */
static int read_lines(int sequence, char *raw, char *lines[LINES_MAX])
{
    int count = 0;

    read_raw_headers(sequence, raw, RAW_BYTES);
    for (char *at = raw, *end; (end = strstr(at, "\r\n")) != NULL && end > at; at = end + 2) {
        assert_true(count < LINES_MAX);
        *end = '\0';
        lines[count++] = at;
        if (strncmp(at, "id: r", 5) == 0 || strncmp(at, "Nats-Msg-Id: r", 14) == 0)
            strchr(at, 'r')[1] = '#';
    }
    qsort((void *)lines, (size_t)count, sizeof *lines, compare_lines);
    return count;
}

static void expect_same_lines(int sequence, int other)
{
    static char raw[2][RAW_BYTES];
    char *lines[2][LINES_MAX];
    int count = read_lines(sequence, raw[0], lines[0]);

    assert_int_equal(count, read_lines(other, raw[1], lines[1]));
    assert_true(count >= 4);
    for (int i = 0; i < count; i++)
        assert_string_equal(lines[0][i], lines[1][i]);
}

static void a_consumer_sees_the_same_headers_whether_one_call_sets_them_or_many(void **state)
{
    (void)state;
    assert_int_equal(nats()->block, NATS_BLOCK_WORKS);
    calls = 0;
    fill_with_all_kinds(1);
    assert_int_equal(calls, KINDS);
    nats()->block = NATS_BLOCK_REFUSED;
    fill_with_all_kinds(2);
    assert_true(calls > 5 * KINDS);
    for (int i = 1; i <= KINDS; i++)
        expect_same_lines(i, KINDS + i);
}

static void a_repeat_of_headers_that_one_call_has_set_is_known_for_one(void **state)
{
    (void)state;
    fill_with_all_kinds(1);
    fill_with_all_kinds(1);
    assert_int_equal(stored(stream), KINDS);
    assert_int_equal(nats()->block, NATS_BLOCK_WORKS);
}

static void a_library_that_minds_line_ends_in_names_gets_headers_one_by_one(void **state)
{
    static const enum library libraries[] = {BLANKS_THEM, ENDS_THERE, MASKS_BYTES, REFUSES_IT};
    jsStreamConfig config;
    natsMsg *found;
    const char *value = NULL;

    for (int i = 0; i < 4; i++) {
        if (i > 0)
            assert_int_equal(teardown(state), 0);
        library = libraries[i];
        assert_int_equal(open_broker(state), 0);
        (void)jsStreamConfig_Init(&config);
        use_stream(&config);
        assert_int_equal(nats()->block, NATS_BLOCK_REFUSED);
        batch_reset(&batch);
        (void)add_message(&batch, subject_of("x"), "k", "x");
        batch.messages[0].type = text_of("created");
        publish_quickly();
        assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
        found = read_back(1);
        assert_int_equal(natsMsgHeader_Get(found, "type", &value), NATS_OK);
        assert_string_equal(value, "created");
        assert_int_equal(natsMsgHeader_Get(found, "Nats-Msg-Id", &value), NATS_OK);
        assert_int_equal(natsMsgHeader_Get(found, "Nats-Expected-Stream", &value), NATS_OK);
        assert_string_equal(value, stream);
        natsMsg_Destroy(found);
    }
}

/* The library's inside is the same on the next connection: what works is not tried again. */
static void a_block_that_works_is_tried_on_the_first_connection_only(void **state)
{
    uint64_t trial = nats()->trial;

    (void)state;
    for (int i = 0; i < 3; i++) {
        nats_disconnect(nats());
        assert_int_equal(broker_ready(broker, &error), 0);
    }
    assert_true(nats()->trial == trial);
    assert_int_equal(nats()->block, NATS_BLOCK_WORKS);
}

static void a_trial_that_was_cut_off_is_made_again(void **state)
{
    uint64_t trial = nats()->trial;

    (void)state;
    nats()->block = NATS_BLOCK_TRIED;
    nats_disconnect(nats());
    assert_int_equal(broker_ready(broker, &error), 0);
    assert_true(nats()->trial > trial);
    assert_int_equal(nats()->block, NATS_BLOCK_WORKS);
}

static const char may_not_publish_to_inbox[] =
    "jetstream {store_dir: js}\n"
    "authorization { users: [{user: admin, password: admin}\n"
    "  {user: relay, password: relay, permissions: {\n"
    "    publish: [\"*.in\", \"$JS.API.STREAM.INFO.*\"], subscribe: [\"_INBOX.>\"]}}]}\n";

static void a_user_who_may_not_publish_to_the_inbox_is_logged_once_and_all_is_sent(void **state)
{
    jsStreamConfig config;
    char subject[64];

    open_own(state, may_not_publish_to_inbox, "relay");
    (void)jsStreamConfig_Init(&config);
    use_stream(&config);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(nats()->block, NATS_BLOCK_REFUSED);
        (void)snprintf(subject, sizeof subject, "%s.in", prefix);
        fill_batch_of(subject, BATCH);
        publish_quickly();
        assert_int_equal(count_verdicts(&batch, VERDICT_SENT), BATCH);
        nats_disconnect(nats());
        assert_int_equal(broker_ready(broker, &error), 0);
    }
    assert_int_equal(stored(stream), 3 * BATCH);
    assert_int_equal(own_log_count("Publish Violation"), 1);
    stop_own_server();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown_headers)
#define TEST_WITHOUT_STREAM(name) cmocka_unit_test_teardown(name, teardown_headers)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_consumer_sees_the_same_headers_whether_one_call_sets_them_or_many),
        TEST(a_repeat_of_headers_that_one_call_has_set_is_known_for_one),
        TEST(a_block_that_works_is_tried_on_the_first_connection_only),
        TEST(a_trial_that_was_cut_off_is_made_again),
        TEST_WITHOUT_STREAM(a_library_that_minds_line_ends_in_names_gets_headers_one_by_one),
        TEST_WITHOUT_STREAM(a_user_who_may_not_publish_to_the_inbox_is_logged_once_and_all_is_sent),
    };

    return cmocka_run_group_tests(tests, NULL, close_library);
}
