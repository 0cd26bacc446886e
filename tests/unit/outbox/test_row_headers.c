#include "outbox/row.h"
#include "unit/batch.h"

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

TEST(booleans_become_text)
{
    assert_value("{\"h\": true}", text_of("true"));
    assert_value("{\"h\": false}", text_of("false"));
}

TEST(a_null_value_is_a_header_without_a_value)
{
    const char *json = "{\"a\": null, \"h\": \"v\", \"b\": null}";

    assert_null(read_bytes(json, strlen(json)));
    assert_int_equal(message.header_count, 3);
    assert_null(find("a")->value.data);
    assert_null(find("b")->value.data);
    assert_true(text_equal(find("h")->value, text_of("v")));
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
