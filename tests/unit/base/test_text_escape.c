#include "base/text.h"
#include "test.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* text_escape and text_escape_json: what row data and brokers' words look like in a log. */

typedef char *escaper(char *out, size_t size, const char *data, size_t len);

struct escape_case {
    const char *data;
    size_t len;
    const char *escaped;
};

static const struct escape_case plain[] = {
    {"", 0, ""},
    {"order.created", 13, "order.created"},
    {"a\nb", 3, "a\\nb"},
    {"C:\\x", 4, "C:\\\\x"},
    {"say \"hi\"", 8, "say \"hi\""},
    {"\x1b[31m", 5, "\\x1b[31m"},
    {"a\0b", 3, "a\\x00b"},
    {"\x7f", 1, "\\x7f"},
    {"\xFF", 1, "\\xff"},
    {"\x80\xBF", 2, "\\x80\\xbf"},
    {"\xE2\x82", 2, "\\xe2\\x82"},
    {"\xED\xA0\x80", 3, "\\xed\\xa0\\x80"},
    {"\xC2\x9B"
     "31m",
     5, "\\xc2\\x9b31m"}, /* U+009B starts an escape sequence on a terminal */
    {"\xC2\x80\xC2\x9F\xC2\xA0", 6, "\\xc2\\x80\\xc2\\x9f\xC2\xA0"},
    /* U+202E shows what follows from right to left: "exe.fdp" as "pdf.exe" */
    {"\xE2\x80\xAE"
     "fdp",
     6, "\\xe2\\x80\\xaefdp"},
    {"\xD8\x9C\xE2\x80\x8E\xE2\x80\x8F", 8, "\\xd8\\x9c\\xe2\\x80\\x8e\\xe2\\x80\\x8f"},
    {"\xE2\x80\xAA\xE2\x81\xA6\xE2\x81\xA9", 9, "\\xe2\\x80\\xaa\\xe2\\x81\\xa6\\xe2\\x81\\xa9"},
    {"\xE2\x80\x8D\xE2\x80\xA9\xE2\x80\xAF\xE2\x81\xA5\xE2\x81\xAA", 15,
     "\xE2\x80\x8D\xE2\x80\xA9\xE2\x80\xAF\xE2\x81\xA5\xE2\x81\xAA"}, /* their neighbours */
    {"gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x90\x98", 15,
     "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x90\x98"},
};

static const struct escape_case json[] = {
    {"", 0, ""},
    {"say \"hi\"", 8, "say \\\"hi\\\""},
    {"C:\\x", 4, "C:\\\\x"},
    {"a\nb", 3, "a\\nb"},
    {"\x1b", 1, "\\u001b"},
    {"a\0b", 3, "a\\u0000b"},
    {"\xFF", 1, "\\ufffd"},
    {"\x7F\xC2\x9B\xD8\x9C\xE2\x80\xAE\xE2\x81\xA6", 11, "\\u007f\\u009b\\u061c\\u202e\\u2066"},
    {"gr\xC3\xBC\xC3\x9F", 6, "gr\xC3\xBC\xC3\x9F"},
};

static void assert_escapes(escaper *escape, const struct escape_case *cases, size_t count)
{
    char out[128];

    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(escape(out, sizeof out, cases[i].data, cases[i].len), out);
        assert_string_equal(out, cases[i].escaped);
    }
}

TEST(control_bytes_and_broken_utf8_are_escaped_as_in_c)
{
    assert_escapes(text_escape, plain, sizeof plain / sizeof plain[0]);
}

TEST(json_escapes_are_those_of_rfc_8259)
{
    assert_escapes(text_escape_json, json, sizeof json / sizeof json[0]);
}

/* Printable ASCII, or UTF-8 that is no control character. */
static void assert_safe(const char *out)
{
    size_t len = strlen(out);

    assert_true(text_is_utf8(out, len));
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)out[i];

        assert_true(byte >= 0x20 && byte != 0x7F);
        if (byte == 0xC2)
            assert_true((unsigned char)out[i + 1] >= 0xA0);
    }
}

TEST(no_pair_of_bytes_reaches_the_terminal_as_a_control_character)
{
    char out[32];

    for (unsigned first = 0; first <= 0xFF; first++)
        for (unsigned second = 0; second <= 0xFF; second++) {
            char bytes[] = {(char)first, (char)second};

            assert_safe(text_escape(out, sizeof out, bytes, 2));
            assert_safe(text_escape_json(out, sizeof out, bytes, 2));
        }
}

/* What a JSON reader makes of the escaped bytes between quotes. The caller frees it. */
static json_t *read_json(const char *escaped)
{
    char quoted[512];
    json_t *value;

    (void)snprintf(quoted, sizeof quoted, "\"%s\"", escaped);
    value = json_loads(quoted, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    assert_non_null(value);
    return value;
}

TEST(a_json_reader_accepts_any_two_bytes_escaped)
{
    char out[32];

    for (unsigned first = 0; first <= 0xFF; first++)
        for (unsigned second = 0; second <= 0xFF; second += 3) {
            char bytes[] = {(char)first, (char)second};

            json_decref(read_json(text_escape_json(out, sizeof out, bytes, 2)));
        }
}

/* ---- cutting ---- */

/* The output of each size is the whole, or a prefix of it and "...", within its bounds. */
static void assert_cut_well(escaper *escape, const char *data, size_t len)
{
    char whole[256];
    char out[256];
    size_t whole_len = strlen(escape(whole, sizeof whole, data, len));

    for (size_t size = 1; size <= whole_len + 2; size++) {
        size_t cut;

        memset(out, '#', sizeof out);
        escape(out, size, data, len);
        assert_non_null(memchr(out, '\0', size));
        assert_int_equal(out[size], '#');
        if (size > whole_len) {
            assert_string_equal(out, whole);
            continue;
        }
        cut = strlen(out) < 3 ? 0 : strlen(out) - 3;
        assert_memory_equal(out, whole, cut);
        assert_memory_equal(out + cut, "...", strlen(out) - cut);
        assert_true(text_is_utf8(out, strlen(out)));
        if (size >= 4)
            assert_true(strlen(out) + sizeof "\\u0000" + 3 >= size);
    }
}

TEST(what_fits_is_kept_whole_and_the_rest_ends_in_three_dots)
{
    static const struct escape_case cases[] = {
        {"abcd", 4, NULL},
        {"abcdefghij", 10, NULL},
        {"\x01\x02\x03\x04", 4, NULL},
        {"a\xE2\x82\xAC\xE2\x82\xAC\xF0\x9F\x90\x98z", 12, NULL},
        {"\xC2\x85\xC2\x85\\\\\"\"\n\n", 10, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_cut_well(text_escape, cases[i].data, cases[i].len);
        assert_cut_well(text_escape_json, cases[i].data, cases[i].len);
    }
}
