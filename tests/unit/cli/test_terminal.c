#include "cli/terminal.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char out[32];

static const char *shown(const char *text, bool lines)
{
    return text_show(out, sizeof out, text_of(text), lines);
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
    assert_string_equal(text_show(out, sizeof out, (struct text){"a\0b", 3}, true), "a\\x00b");
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
