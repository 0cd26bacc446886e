#include "outbox/row.h"
#include "unit/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* row_headers: the column "headers" -> the headers of a message. */

static struct message message;

static int setup(void **state)
{
    message = (struct message){0};
    return open_batch(state);
}

FIXTURE(setup, close_batch)

static const char *read_bytes(const char *json, size_t len)
{
    message = (struct message){0};
    batch_reset(&batch);
    return row_headers(&message, (struct text){json, len}, &batch);
}

static const struct header *find(const char *name)
{
    for (int i = 0; i < message.header_count; i++)
        if (text_equal(message.headers[i].name, text_of(name)))
            return &message.headers[i];
    return NULL;
}

static void assert_value(const char *json, struct text want)
{
    const char *problem = read_bytes(json, strlen(json));

    if (problem != NULL)
        fail_msg("%s: %s", json, problem);
    assert_int_equal(message.header_count, 1);
    assert_non_null(find("h"));
    if (!text_equal(find("h")->value, want))
        fail_msg("%s: \"%.*s\"", json, (int)find("h")->value.len, find("h")->value.data);
}

static void assert_none(const char *json)
{
    const char *problem = read_bytes(json, strlen(json));

    if (problem != NULL)
        fail_msg("%s: %s", json, problem);
    assert_int_equal(message.header_count, 0);
}

static void assert_refused(const char *json, size_t len)
{
    if (read_bytes(json, len) == NULL)
        fail_msg("%.*s was accepted", (int)len, json);
    assert_int_equal(message.header_count, 0);
    assert_null(message.headers);
}

TEST(a_null_column_makes_no_headers)
{
    assert_null(row_headers(&message, (struct text){NULL, 0}, &batch));
    assert_int_equal(message.header_count, 0);
}

TEST(an_empty_object_and_a_json_null_make_no_headers)
{
    assert_none("{}");
    assert_none("{ }");
    assert_none(" {\n} ");
    assert_none("null");
    assert_none(" null ");
}

TEST(strings_are_taken_as_they_are)
{
    static const char *const cases[][2] = {
        {"{\"h\": \"v\"}", "v"},
        {"{\"h\":\"\"}", ""},
        {"{\"h\": \"a b\\tc\\r\\nd\"}", "a b\tc\r\nd"},
        {"{\"h\": \"\\\"\\\\\\/\"}", "\"\\/"},
        {"{\"h\": \"gr\xC3\xBC\xC3\x9F\"}", "gr\xC3\xBC\xC3\x9F"},
        {"{\"h\": \"\\u00fc\\ud83d\\udc18\"}", "\xC3\xBC\xF0\x9F\x90\x98"},
        {"{\"h\": \"null\"}", "null"},
        {"{\"h\": \"1.10\"}", "1.10"},
        {"{\"h\": \"{\\\"a\\\": 1}\"}", "{\"a\": 1}"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_value(cases[i][0], text_of(cases[i][1]));
}

TEST(a_string_may_hold_a_nul)
{
    assert_value("{\"h\": \"a\\u0000b\"}", (struct text){"a\0b", 3});
}

TEST(integers_become_text_without_loss)
{
    static const char *const numbers[] = {"0",
                                          "1",
                                          "-1",
                                          "42",
                                          "2147483648",
                                          "9007199254740993",
                                          "9223372036854775807",
                                          "-9223372036854775808"};
    char json[64];

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        (void)snprintf(json, sizeof json, "{\"h\": %s}", numbers[i]);
        assert_value(json, text_of(numbers[i]));
    }
}

TEST(real_numbers_become_text_that_reads_back)
{
    static const char *const numbers[] = {
        "1.5",   "-0.25",    "0.1",   "3.14159", "0.30000000000000004",
        "1e100", "-1.5e-10", "1e-07", "-0.0",    "1.7976931348623157e308"};
    char json[64];

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        double want = strtod(numbers[i], NULL);
        double got;

        (void)snprintf(json, sizeof json, "{\"h\": %s}", numbers[i]);
        assert_null(read_bytes(json, strlen(json)));
        got = strtod(find("h")->value.data, NULL);
        assert_false(got < want || got > want);
    }
    assert_value("{\"h\": 1.5}", text_of("1.5"));
    assert_value("{\"h\": -0.25}", text_of("-0.25"));
    assert_value("{\"h\": 0.1}", text_of("0.1"));
}

TEST(booleans_become_text)
{
    assert_value("{\"h\": true}", text_of("true"));
    assert_value("{\"h\": false}", text_of("false"));
}

TEST(a_null_value_makes_no_header)
{
    assert_none("{\"h\": null}");
    assert_none("{\"a\": null, \"b\": null}");
    assert_value("{\"a\": null, \"h\": \"v\", \"b\": null}", text_of("v"));
}

TEST(nested_values_are_refused)
{
    static const char *const cases[] = {
        "{\"h\": {}}",
        "{\"h\": []}",
        "{\"h\": [1]}",
        "{\"h\": {\"a\": 1}}",
        "{\"a\": 1, \"h\": [null]}",
        "{\"h\": [], \"a\": \"fine\"}",
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(cases[i], strlen(cases[i]));
}

TEST(what_is_no_object_is_refused)
{
    static const char *const cases[] = {"[]", "[{}]", "\"a\"", "1", "1.5", "true", "false"};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(cases[i], strlen(cases[i]));
}

TEST(what_is_no_json_is_refused)
{
    static const char *const cases[] = {
        "",
        " ",
        "{",
        "}",
        "{\"h\"}",
        "{\"h\":}",
        "{h: 1}",
        "{\"h\": 1,}",
        "{\"h\": 01}",
        "{\"h\": +1}",
        "{\"h\": .5}",
        "{\"h\": NaN}",
        "{'h': 1}",
        "{\"h\": 1} x",
        "{}{}",
        "{\"h\": \"\n\"}",
        "{\"h\": \"\xFF\"}",
        "{\"h\": \"\\ud800\"}",
        "{\"h\": \"\\x\"}",
        "nul",
        "{\"h\": tru}",
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(cases[i], strlen(cases[i]));
    assert_refused("{\"h\": 1}\0", 9);
}

TEST(a_name_that_occurs_twice_is_refused)
{
    static const char twice[] = "{\"h\": \"1\", \"x\": \"2\", \"h\": \"3\"}";
    static const char escaped[] = "{\"h\": 1, \"\\u0068\": 2}";

    assert_refused(twice, strlen(twice));
    assert_refused(escaped, strlen(escaped));
}

TEST(refused_headers_are_reported_with_a_constant_text)
{
    const char *problem = read_bytes("[]", 2);
    char before[256];

    (void)snprintf(before, sizeof before, "%s", problem);
    assert_non_null(strstr(before, "headers"));
    batch_reset(&batch);
    assert_string_equal(problem, before);
}

TEST(all_headers_of_an_object_arrive)
{
    static const char json[] = "{\"a\": \"x\", \"b\": 2, \"c\": true, \"\": \"e\", \"A\": \"X\"}";

    assert_null(read_bytes(json, strlen(json)));
    assert_int_equal(message.header_count, 5);
    assert_true(text_equal(find("a")->value, text_of("x")));
    assert_true(text_equal(find("b")->value, text_of("2")));
    assert_true(text_equal(find("c")->value, text_of("true")));
    assert_true(text_equal(find("")->value, text_of("e")));
    assert_true(text_equal(find("A")->value, text_of("X")));
}

TEST(ten_thousand_headers_and_a_large_value_are_read)
{
    size_t size = 2 * 1024 * 1024;
    char *json = malloc(size);
    size_t len = 0;

    assert_non_null(json);
    for (int i = 0; i < 10000; i++)
        len += (size_t)snprintf(json + len, size - len, "%c\"n%d\": %d", i == 0 ? '{' : ',', i, i);
    len += (size_t)snprintf(json + len, size - len, ", \"large\": \"");
    memset(json + len, 'x', 1024 * 1024);
    len += 1024 * 1024;
    len += (size_t)snprintf(json + len, size - len, "\"}");
    assert_null(read_bytes(json, len));
    assert_int_equal(message.header_count, 10001);
    assert_int_equal(find("large")->value.len, 1024 * 1024);
    assert_true(text_equal(find("n9999")->value, text_of("9999")));
    free(json);
}

TEST(deep_nesting_is_refused_without_harm)
{
    size_t len = 1000000;
    char *json = malloc(len);

    assert_non_null(json);
    memset(json, '[', len);
    assert_refused(json, len);
    for (size_t i = 0; i + 5 <= len; i += 5)
        memcpy(json + i, "{\"h\":", 5);
    assert_refused(json, len);
    free(json);
}

TEST(headers_outlive_the_json_they_came_from)
{
    char json[] = "{\"name\": \"value\"}";

    assert_null(read_bytes(json, strlen(json)));
    memset(json, '#', sizeof json - 1);
    assert_true(text_equal(message.headers[0].name, text_of("name")));
    assert_true(text_equal(message.headers[0].value, text_of("value")));
}
