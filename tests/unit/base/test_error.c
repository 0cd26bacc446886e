#include "base/error.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

TEST(setting_an_error_reads_as_a_failure)
{
    struct error error;

    assert_int_equal(error_set(&error, ERROR_TRANSIENT, ERROR_BROKER, "x"), -1);
    assert_int_equal(error_hint(&error, "y"), -1);
    assert_int_equal(error_no_memory(&error), -1);
}

TEST(an_error_keeps_kind_origin_and_formatted_text)
{
    struct error error;

    error_set(&error, ERROR_PERMANENT, ERROR_DATABASE, "table \"%s\": %d columns", "outbox", 9);
    assert_int_equal(error.kind, ERROR_PERMANENT);
    assert_int_equal(error.origin, ERROR_DATABASE);
    assert_string_equal(error.text, "table \"outbox\": 9 columns");
    assert_string_equal(error.hint, "");
}

TEST(a_new_error_forgets_the_hint_of_the_last)
{
    struct error error;

    error_set(&error, ERROR_PERMANENT, ERROR_DATABASE, "missing privilege");
    error_hint(&error, "GRANT %s ON %s TO relay", "SELECT", "outbox");
    assert_string_equal(error.text, "missing privilege");
    assert_string_equal(error.hint, "GRANT SELECT ON outbox TO relay");
    error_set(&error, ERROR_TRANSIENT, ERROR_DATABASE, "away");
    assert_string_equal(error.hint, "");
}

TEST(an_error_is_one_line)
{
    static const char *const texts[][2] = {
        {"connection refused\n", "connection refused"},
        {"server closed it\n\tThis means\n", "server closed it  This means"},
        {"trailing  \n\n", "trailing"},
        {"one\r\ntwo", "one  two"},
    };
    struct error error;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        error_set(&error, ERROR_TRANSIENT, ERROR_DATABASE, "%s", texts[i][0]);
        assert_string_equal(error.text, texts[i][1]);
    }
}

TEST(an_error_is_never_empty_once_set)
{
    static const char *const texts[] = {"", "\n", "  \n \n"};
    struct error error;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        error_set(&error, ERROR_TRANSIENT, ERROR_DATABASE, "%s", texts[i]);
        assert_true(strlen(error.text) > 0);
    }
}

TEST(what_does_not_fit_an_error_is_cut)
{
    char text[4096];
    struct error error;

    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    error_set(&error, ERROR_TRANSIENT, ERROR_SELF, "%s", text);
    error_hint(&error, "%s", text);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_int_equal(strlen(error.hint), sizeof error.hint - 1);
}

TEST(without_memory_the_process_cannot_go_on)
{
    struct error error;

    error_no_memory(&error);
    assert_int_equal(error.kind, ERROR_FATAL);
    assert_int_equal(error.origin, ERROR_SELF);
    assert_string_equal(error.text, "out of memory");
}
