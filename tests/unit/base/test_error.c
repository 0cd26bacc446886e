#include "base/error.h"
#include "test.h"

#include <string.h>

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
