#include "cli/terminal.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char out[32];

static const char *shown(const char *text, bool lines)
{
    return terminal_text(out, sizeof out, text_of(text), lines);
}

TEST(printable_text_stays_as_it_is)
{
    assert_string_equal(shown("", false), "");
    assert_string_equal(shown("a\\b \"c\"", false), "a\\b \"c\"");
    assert_string_equal(shown("Gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\x98", false),
                        "Gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\x98");
    assert_string_equal(shown("a\n\tb", true), "a\n\tb");
}

TEST(what_a_terminal_obeys_is_escaped)
{
    assert_string_equal(shown("a\033[31m\\", false), "a\\x1b[31m\\\\");
    assert_string_equal(shown("a\n\tb", false), "a\\n\\x09b");
    assert_string_equal(shown("a\nb\r", true), "a\\nb\\x0d");
    assert_string_equal(shown("\x7f", true), "\\x7f");
    assert_string_equal(shown("\xc2\x9b"
                              "31m",
                              true),
                        "\\xc2\\x9b31m");
    assert_string_equal(shown("\xff", true), "\\xff");
    assert_string_equal(shown("\xe2\x80\xaeoga", true), "\\xe2\\x80\\xaeoga");
    assert_string_equal(terminal_text(out, sizeof out, (struct text){"a\0b", 3}, true), "a\\x00b");
}

TEST(what_does_not_fit_is_cut_between_two_characters)
{
    assert_string_equal(shown("0123456789012345678901234567890", false),
                        "0123456789012345678901234567890");
    assert_string_equal(shown("01234567890123456789012345678901", false),
                        "0123456789012345678901234567...");
    assert_string_equal(shown("012345678901234567890123456\xc3\xbc"
                              "89012",
                              false),
                        "012345678901234567890123456...");
}

TEST(width_is_counted_in_columns)
{
    assert_int_equal(terminal_width(""), 0);
    assert_int_equal(terminal_width("Gr\xc3\xbc\xc3\x9f"), 4);
    assert_int_equal(terminal_width("\xe6\xbc\xa2\xe5\xad\x97"), 4);
    assert_int_equal(terminal_width("\xff\xfe"), 2);
}

TEST(what_is_wider_is_cut_between_two_characters)
{
    assert_string_equal(terminal_fit(out, sizeof out, "abcdef", 6), "abcdef");
    assert_string_equal(terminal_fit(out, sizeof out, "abcdefg", 6), "abc...");
    assert_string_equal(terminal_fit(out, sizeof out,
                                     "\xe6\xbc\xa2\xe5\xad\x97"
                                     "abcd",
                                     6),
                        "\xe6\xbc\xa2...");
    assert_string_equal(terminal_fit(out, sizeof out, "abcdefg", 2), "..");
    assert_string_equal(terminal_fit(out, 8, "abcdefghijkl", 80), "abcd...");
}

static void assert_wrapped(int columns, int lines, const char *text, const char *expected)
{
    char *printed = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&printed, &size);

    assert_non_null(file);
    terminal_put_wrapped(file, columns, "  ", lines, text);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(printed, expected);
    free(printed);
}

TEST(a_long_text_is_broken_between_words)
{
    assert_wrapped(0, 9, "one two three", "one two three\n");
    assert_wrapped(8, 9, "one two three", "one two\n  three\n");
    assert_wrapped(8, 2, "one two three four", "one two\n  thr...\n");
    assert_wrapped(8, 9, "\033[31mone\033[m two three", "\033[31mone\033[m two\n  three\n");
    assert_wrapped(4, 9, "unbreakable", "u...\n");
    assert_wrapped(8, 9, "one two  three", "one two\n  three\n");
}
