#include "integration/nats_fixture.h"

ONCE(NULL, close_library)

FIXTURE(setup, teardown)

/* All headers in one call, or one by one: whichever it is, a consumer sees the same. A version of
 * the library that is not in nats_one_call_works() fails here, so that it is looked at. */

#define RAW_BYTES (80 * 1024)
#define LINES_MAX 32
#define ID_BYTES 16
#define KINDS 6

natsStatus real_set(natsMsg *message, const char *name,
                    const char *value) __asm__("__real_natsMsgHeader_Set");
natsStatus wrap_set(natsMsg *message, const char *name,
                    const char *value) __asm__("__wrap_natsMsgHeader_Set");

static int calls;

natsStatus wrap_set(natsMsg *message, const char *name, const char *value)
{
    calls++;
    return real_set(message, name, value);
}

static struct nats *nats(void)
{
    return (struct nats *)broker;
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
        if (strstr(at, "d: r") != NULL && strchr(at, ':') == strstr(at, ": r"))
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

static void expect_the_same_either_way(void)
{
    assert_true(nats()->headers_in_one_call);
    calls = 0;
    fill_with_all_kinds(1);
    assert_int_equal(calls, KINDS);
    nats()->headers_in_one_call = false;
    fill_with_all_kinds(2);
    assert_true(calls > 5 * KINDS);
    for (int i = 1; i <= KINDS; i++)
        expect_same_lines(i, KINDS + i);
}

TEST(a_consumer_sees_the_same_headers_whether_one_call_sets_them_or_many)
{
    expect_the_same_either_way();
}

TEST(a_consumer_sees_the_names_that_the_sink_gives_whether_one_call_sets_them_or_many)
{
    static char raw[RAW_BYTES];

    options.headers[OWN_ID] = "X-Event-Id";
    options.headers[OWN_TYPE] = "";
    options.headers[OWN_KEY] = "X-Partition-Key";
    broker->headers = sink_header_rules(&options, true);
    expect_the_same_either_way();
    read_raw_headers(1, raw, sizeof raw);
    assert_non_null(strstr(raw, "\r\nX-Event-Id: r1-m0\r\n"));
    assert_non_null(strstr(raw, "\r\nNats-Msg-Id: r1-m0\r\n"));
    assert_non_null(strstr(raw, "\r\nX-Partition-Key: k\r\n"));
    assert_null(strstr(raw, "\r\nid: "));
    assert_null(strstr(raw, "\r\ntype: "));
    assert_null(strstr(raw, "\r\nkey: "));
}

TEST(an_event_without_a_header_for_its_id_is_recognised_as_a_repeat)
{
    options.headers[OWN_ID] = "";
    broker->headers = sink_header_rules(&options, true);
    fill_with_all_kinds(1);
    fill_with_all_kinds(1);
    assert_int_equal(stored(stream), KINDS);
}

TEST(an_id_that_readers_would_see_otherwise_is_refused_without_a_header_for_it)
{
    options.headers[OWN_ID] = "";
    broker->headers = sink_header_rules(&options, true);
    add_message(&batch, subject_of("a"), NULL, "x")->event_id = text_of("a\r\nNats-Rollup: all");
    publish_quickly();
    assert_int_equal(batch.messages[0].verdict, VERDICT_REJECTED);
    assert_non_null(strstr(batch.messages[0].reason, "id: invalid header value"));
}

TEST(an_event_whose_headers_were_set_in_one_call_is_recognised_as_a_repeat)
{
    fill_with_all_kinds(1);
    fill_with_all_kinds(1);
    assert_int_equal(stored(stream), KINDS);
    assert_true(nats()->headers_in_one_call);
}
