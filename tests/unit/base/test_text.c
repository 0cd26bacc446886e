#include "base/text.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

/* ---- UTF-8 (RFC 3629) ---- */

/* The encoding as the RFC's table has it, with no regard to what it forbids. */
static size_t encode(char out[4], uint32_t point)
{
    static const unsigned lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    size_t len = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

    if (len == 1) {
        out[0] = (char)point;
        return 1;
    }
    for (size_t i = len - 1; i > 0; i--, point >>= 6)
        out[i] = (char)(0x80U | (point & 0x3FU));
    out[0] = (char)(lead[len] | point);
    return len;
}

TEST(every_code_point_but_the_surrogates_is_utf8)
{
    char bytes[4];

    for (uint32_t point = 0; point <= 0x10FFFF; point++) {
        size_t len = encode(bytes, point);
        bool surrogate = point >= 0xD800 && point <= 0xDFFF;

        assert_int_equal(text_utf8_len(bytes, len), surrogate ? 0 : len);
    }
}

TEST(what_lies_beyond_the_last_code_point_is_not_utf8)
{
    char bytes[4];

    for (uint32_t point = 0x110000; point <= 0x1FFFFF; point++)
        assert_int_equal(text_utf8_len(bytes, encode(bytes, point)), 0);
}

TEST(a_sequence_with_a_broken_continuation_is_not_utf8)
{
    static const uint32_t points[] = {0x80, 0x7FF, 0x800, 0xFFFD, 0x10000, 0x10FFFF};
    char bytes[4];

    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
        for (size_t at = 1; at < encode(bytes, points[i]); at++)
            for (unsigned byte = 0; byte <= 0xFF; byte++) {
                size_t len = encode(bytes, points[i]);

                bytes[at] = (char)byte;
                if ((byte & 0xC0U) != 0x80U)
                    assert_int_equal(text_utf8_len(bytes, len), 0);
            }
}

TEST(no_byte_behind_the_text_is_read)
{
    static const char *const texts[] = {"a", "\xC2", "\xE2\x82", "\xF0\x9F\x90", "\xC3\xBC"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t len = strlen(texts[i]);
        char *bytes = malloc(len); /* so that a sanitizer sees it */

        assert_non_null(bytes);
        memcpy(bytes, texts[i], len);
        assert_int_equal(text_is_utf8(bytes, len), i == 0 || i == 4);
        free(bytes);
    }
}

TEST(overlong_forms_are_not_utf8)
{
    for (unsigned low = 0x80; low <= 0xBF; low++) {
        char two[] = {(char)0xC0, (char)low};
        char also_two[] = {(char)0xC1, (char)low};

        assert_int_equal(text_utf8_len(two, 2), 0);
        assert_int_equal(text_utf8_len(also_two, 2), 0);
    }
    assert_int_equal(text_utf8_len("\xE0\x9F\xBF", 3), 0);
    assert_int_equal(text_utf8_len("\xF0\x8F\xBF\xBF", 4), 0);
}

TEST(a_string_is_utf8_when_all_of_it_is)
{
    assert_true(text_is_utf8("", 0));
    assert_true(text_is_utf8("a\0b", 3));
    assert_true(text_is_utf8("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x90\x98", 15));
    assert_false(text_is_utf8("ok\xFF", 3));
    assert_false(text_is_utf8("\x80ok", 3));
    assert_false(text_is_utf8("ok\xE2\x82", 4));
    assert_false(text_is_utf8("\xED\xA0\x80", 3));
}

/* ---- text ---- */

/* ---- how alike two names are ---- */

TEST(the_distance_is_the_least_number_of_edits)
{
    static const struct {
        const char *a, *b;
        unsigned distance;
    } cases[] = {
        {"", "", 0},           {"", "abc", 3},           {"abc", "abc", 0},
        {"bacth", "batch", 2}, {"kitten", "sitting", 3}, {"batch", "batches", 2},
        {"lanes", "lane", 1},  {"flaw", "lawn", 2},      {"abc", "xyz", 3},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(text_distance(cases[i].a, cases[i].b), cases[i].distance);
        assert_int_equal(text_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
}

/* ---- durations and sizes ---- */

struct spelling {
    const char *string;
    int64_t value; /* -1: refused */
};

static const struct spelling durations[] = {
    {"250ms", 250},
    {"10s", 10000},
    {"5m", 300000},
    {"2h", 7200000},
    {"7d", 604800000},
    {"0", 0},
    {"0s", 0},
    {"1ms", 1},
    {"9223372036854775807ms", INT64_MAX},
    {"9223372036854775s", 9223372036854775000},
    {"9223372036854776s", -1},
    {"9223372036854775808ms", -1},
    {"106751991167d", 9223372036828800000},
    {"106751991168d", -1},
    {"99999999999999999999999999s", -1},
    {"", -1},
    {"10", -1},
    {"s", -1},
    {"10 s", -1},
    {" 10s", -1},
    {"10s ", -1},
    {"-10s", -1},
    {"+10s", -1},
    {"1.5s", -1},
    {"1e3s", -1},
    {"0x10s", -1},
    {"10S", -1},
    {"10sec", -1},
    {"1m30s", -1},
    {"10w", -1},
    {"10KiB", -1},
};

static const struct spelling sizes[] = {
    {"512", 512},
    {"64KiB", 65536},
    {"8MiB", 8388608},
    {"1GiB", 1073741824},
    {"0", 0},
    {"0KiB", 0},
    {"9223372036854775807", INT64_MAX},
    {"8589934591GiB", 9223372035781033984},
    {"8589934592GiB", -1},
    {"9223372036854775808", -1},
    {"", -1},
    {"KiB", -1},
    {"64KB", -1},
    {"64kib", -1},
    {"64K", -1},
    {"64 KiB", -1},
    {"64KiB ", -1},
    {"-1", -1},
    {"+1", -1},
    {"1.5MiB", -1},
    {"1TiB", -1},
    {"10s", -1},
};

TEST(a_duration_is_a_whole_number_and_a_unit)
{
    for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++)
        if (text_parse_duration_ms(durations[i].string) != durations[i].value)
            fail_msg("\"%s\"", durations[i].string);
}

TEST(a_size_is_a_whole_number_and_a_binary_unit_or_none)
{
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (text_parse_size(sizes[i].string) != sizes[i].value)
            fail_msg("\"%s\"", sizes[i].string);
}

TEST(a_text_is_cut_between_characters)
{
    assert_int_equal(text_cut(text_of("abc"), 3).len, 3);
    assert_int_equal(text_cut(text_of("abc"), 2).len, 2);
    assert_int_equal(text_cut(text_of("a\xe2\x82\xac"), 3).len, 1);
    assert_int_equal(text_cut(text_of("a\xe2\x82\xac"), 4).len, 4);
    assert_int_equal(text_cut(text_of("\x80\x80\x80\x80\x80\x80"), 5).len, 2); /* not UTF-8 */
    assert_int_equal(text_cut(text_of(""), 0).len, 0);
}
