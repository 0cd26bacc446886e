#include "broker/json_line.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static struct json_line line;

static int teardown(void **state)
{
    (void)state;
    json_line_free(&line);
    return 0;
}

ONCE(NULL, teardown)

static struct message message_with_payload(const char *payload, size_t len, bool is_json)
{
    return (struct message){.destination = text_of("t"),
                            .payload = {payload, len},
                            .payload_len = (int64_t)len,
                            .payload_is_json = is_json};
}

static void assert_line(const struct message *message, const char *expected)
{
    json_line_reset(&line, SIZE_MAX);
    assert_int_equal(json_line_message(&line, message), 0);
    assert_int_equal(line.len, strlen(expected));
    assert_memory_equal(line.data, expected, line.len);
}

TEST(every_member_stands_in_its_place)
{
    struct header headers[] = {
        {text_of("none"), {NULL, 0}}, {text_of("a"), text_of("1")}, {text_of("b"), text_of("")}};
    struct message message = {.destination = text_of("shop.order"),
                              .route_key = text_of("k1"),
                              .event_id = text_of("e-1"),
                              .type = text_of("created"),
                              .created_at = text_of("2026-01-02T03:04:05Z"),
                              .headers = headers,
                              .header_count = 3,
                              .payload = text_of("{\"n\":1}"),
                              .payload_is_json = true};

    assert_line(&message, "{\"topic\":\"shop.order\",\"key\":\"k1\",\"id\":\"e-1\","
                          "\"type\":\"created\",\"created_at\":\"2026-01-02T03:04:05Z\","
                          "\"headers\":{\"a\":\"1\",\"b\":\"\"},\"payload\":{\"n\":1}}\n");
}

TEST(null_members_are_absent_and_empty_ones_present)
{
    struct message message = {.destination = text_of("t"), .payload_len = -1};

    assert_line(&message, "{\"topic\":\"t\"}\n");
    message.route_key = text_of("");
    message.payload = text_of("");
    assert_line(&message, "{\"topic\":\"t\",\"key\":\"\",\"payload\":\"\"}\n");
}

TEST(newlines_in_json_become_spaces)
{
    struct message message = message_with_payload("{\n\"a\":\r\n1}", 10, true);

    assert_line(&message, "{\"topic\":\"t\",\"payload\":{ \"a\":  1}}\n");
}

TEST(text_that_is_not_json_becomes_a_string)
{
    struct message message = message_with_payload("a\"\\\b\t\n\v\f\r\x01\x7f/\xc3\xa4", 14, false);

    assert_line(&message, "{\"topic\":\"t\",\"payload\":\"a\\\"\\\\\\b\\t\\n\\u000b\\f\\r\\u0001"
                          "\\u007f/\xc3\xa4\"}\n");
}

TEST(bytes_that_are_not_utf8_become_base64)
{
    struct message one = message_with_payload("\xff", 1, false);
    struct message two = message_with_payload("\xff\xfe", 2, false);
    struct message three = message_with_payload("\xff\xfe\xfd", 3, false);
    struct message four = message_with_payload("\xff\xfe\xfd\x00", 4, false);

    assert_line(&one, "{\"topic\":\"t\",\"payload_base64\":\"/w==\"}\n");
    assert_line(&two, "{\"topic\":\"t\",\"payload_base64\":\"//4=\"}\n");
    assert_line(&three, "{\"topic\":\"t\",\"payload_base64\":\"//79\"}\n");
    assert_line(&four, "{\"topic\":\"t\",\"payload_base64\":\"//79AA==\"}\n");
}

TEST(a_key_that_is_not_utf8_is_still_json)
{
    struct message message = {.destination = text_of("t"), .route_key = {"a\xffz", 3}};

    assert_line(&message, "{\"topic\":\"t\",\"key\":\"a\\ufffdz\"}\n");
}

TEST(every_byte_in_every_place_makes_one_valid_line)
{
    for (int byte = 0; byte < 256; byte++) {
        char bytes[3] = {(char)byte, 'm', (char)byte};
        struct message message = message_with_payload(bytes, sizeof bytes, false);
        json_t *parsed;

        message.route_key = message.payload;
        json_line_reset(&line, SIZE_MAX);
        assert_int_equal(json_line_message(&line, &message), 0);
        assert_ptr_equal(memchr(line.data, '\n', line.len), line.data + line.len - 1);
        parsed = json_loadb(line.data, line.len, JSON_ALLOW_NUL, NULL);
        assert_non_null(parsed);
        json_decref(parsed);
    }
}

TEST(a_large_payload_grows_the_buffer_and_a_reset_returns_it)
{
    size_t len = 1024 * 1024;
    char *payload = malloc(len);
    struct message message;

    assert_non_null(payload);
    memset(payload, 1, len);
    message = message_with_payload(payload, len, false);
    assert_int_equal(json_line_message(&line, &message), 0);
    assert_true(line.len > 6 * len);
    json_line_reset(&line, len);
    assert_int_equal(line.capacity, 0);
    free(payload);
}

TEST(when_memory_is_short_the_lines_before_stay_whole)
{
    json_line_reset(&line, SIZE_MAX);
    assert_int_equal(json_line_raw(&line, "before\n", 7), 0);
    assert_int_equal(json_line_raw(&line, "", SIZE_MAX / 4), -1); /* which no machine has */
    assert_int_equal(json_line_raw(&line, "after\n", 6), 0);
    assert_int_equal(line.len, 13);
    assert_memory_equal(line.data, "before\nafter\n", 13);
}
