#include "admin/parked/parked_sql.h"

#include "catalog/sql_text.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static void assert_regex(const char *topic, const char *expected)
{
    char *regex;

    assert_int_equal(parked_topic_regex(topic, &regex), 0);
    if (expected == NULL)
        assert_null(regex);
    else
        assert_string_equal(regex, expected);
    free(regex);
}

TEST(wildcard_tokens_make_a_regular_expression_with_all_else_quoted)
{
    assert_regex("*", "^[^.]+$");
    assert_regex(">", "^.+$");
    assert_regex("order.*", "^order\\.[^.]+$");
    assert_regex("order.*.eu", "^order\\.[^.]+\\.eu$");
    assert_regex("order.>", "^order\\..+$");
    assert_regex("a+(b)[c]\\d$^|{2}?.*", "^a\\+\\(b\\)\\[c\\]\\\\d\\$\\^\\|\\{2\\}\\?\\.[^.]+$");
    assert_regex("a\nb \xc3\xbc.*", "^a\nb \xc3\xbc\\.[^.]+$");
}

TEST(a_topic_that_is_no_pattern_means_itself)
{
    assert_regex("", NULL);
    assert_regex("order.paid", NULL);
    assert_regex("a*", NULL);
    assert_regex("a.b>", NULL);
    assert_regex("a.>.b", NULL);
    assert_regex("a..*", NULL);
    assert_regex("*.", NULL);
    assert_regex("re:.*", NULL);
    assert_regex("re:(", NULL);
}

TEST(an_array_quotes_each_element)
{
    const char *const words[] = {"1", "", "a\"b\\c", "{,}", "NULL", "'"};
    char *array = sql_text_array(words, 6);

    assert_non_null(array);
    assert_string_equal(array, "{\"1\",\"\",\"a\\\"b\\\\c\",\"{,}\",\"NULL\",\"'\"}");
    free(array);
}
