#include "admin/status/relay_answer.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static struct relay_answer make(void)
{
    struct relay_answer answer = {.table = 4000000000U,
                                  .version = "1.2.3",
                                  .since_ms = 1790000000123,
                                  .sent = 5000000000,
                                  .parked = 2,
                                  .dead = 3,
                                  .per_s = 12.5,
                                  .unsent_from = 9007199254740993,
                                  .sink_count = 1,
                                  .lane_count = 1,
                                  .sinks = {{"events", "away", 1790000000000, "refused"}},
                                  .lanes = {{7, "publishing", 20, 30}}};

    return answer;
}

TEST(what_is_written_is_read_again)
{
    struct relay_answer answer = make();
    struct relay_answer read;
    char json[ANSWER_BYTES];

    assert_true(relay_answer_read(&read, relay_answer_write(&answer, json)));
    assert_memory_equal(&read, &answer, sizeof read);
}

/* Of every sink and lane there can be, with errors that are not ASCII, and not even UTF-8. */
TEST(the_longest_answer_fits_a_notification)
{
    struct relay_answer answer = make();
    struct relay_answer read;
    char json[ANSWER_BYTES];

    answer.sink_count = ANSWER_SINKS_MAX;
    answer.lane_count = ANSWER_LANES_MAX;
    for (int i = 0; i < ANSWER_SINKS_MAX; i++) {
        struct answer_sink *sink = &answer.sinks[i];

        *sink = answer.sinks[0];
        memset(sink->name, 'n', sizeof sink->name - 1);
        for (size_t at = 0; at + 2 < sizeof sink->error; at += 2)
            memcpy(sink->error + at, i % 2 == 0 ? "\xc3\xa4" : "\xff\x01", 3);
    }
    for (int i = 0; i < ANSWER_LANES_MAX; i++)
        answer.lanes[i] = (struct answer_lane){i + 1, "connecting", 10000000000, 10000000000};
    assert_in_range(strlen(relay_answer_write(&answer, json)), 1000, 7999);
    for (size_t i = 0; json[i] != '\0'; i++)
        assert_in_range(json[i], 0x20, 0x7e);
    assert_true(relay_answer_read(&read, json));
    assert_int_equal(read.sink_count, ANSWER_SINKS_MAX);
    assert_int_equal(strlen(read.sinks[15].name), 63);
}

TEST(an_answer_that_is_hostile_is_refused_or_cut)
{
    static const char *const refused[] = {"",   "{",    "[]",   "null", "{\"table\":\"1\"}",
                                          "{}", "\xff", "[[[[", "1",    "{\"table\":1.5}"};
    struct relay_answer read;
    char json[4096];
    size_t len;

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_false(relay_answer_read(&read, refused[i]));
    assert_true(relay_answer_read(
        &read, "{\"table\":1,\"sinks\":[1,null,{\"name\":7}],\"lanes\":[{},[\"x\",1]],"
               "\"sent\":\"many\",\"version\":[]}"));
    assert_int_equal(read.sent, 0);
    assert_string_equal(read.sinks[2].name, "");
    len = (size_t)snprintf(json, sizeof json, "{\"table\":1,\"version\":\"%s", "");
    while (len < 3000)
        len += (size_t)snprintf(json + len, sizeof json - len, "\xe2\x82\xac");
    (void)snprintf(json + len, sizeof json - len, "\"}");
    assert_true(relay_answer_read(&read, json));
    assert_int_equal(strlen(read.version), 30); /* whole characters of three bytes */
}

TEST(figures_that_no_relay_has_are_bounded)
{
    struct relay_answer read;

    assert_true(relay_answer_read(
        &read, "{\"table\":1,\"since\":-9223372036854775808,\"sent\":9223372036854775807,"
               "\"rate\":1e300,\"sinks\":[{\"since\":9223372036854775807}],"
               "\"lanes\":[[1,\"idle\",-9223372036854775808,-1]]}"));
    assert_int_equal(read.since_ms, 0);
    assert_int_equal(read.sent, INT64_C(1) << 53);
    assert_true(read.per_s <= 1e12);
    assert_int_equal(read.sinks[0].since_ms, INT64_C(1) << 53);
    assert_int_equal(read.lanes[0].for_ms, 0);
}

TEST(a_token_is_32_hexadecimal_digits)
{
    assert_true(relay_answer_token_fits("0123456789abcdef0123456789abcdef"));
    assert_false(relay_answer_token_fits(""));
    assert_false(relay_answer_token_fits("0123456789abcdef0123456789abcde"));
    assert_false(relay_answer_token_fits("0123456789abcdef0123456789abcdef0"));
    assert_false(relay_answer_token_fits("0123456789ABCDEF0123456789abcdef"));
    assert_false(relay_answer_token_fits("0123456789abcdef0123456789abcde;"));
}
