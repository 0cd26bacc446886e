#include "base/hint.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define PLACES " row settle connect connect-later kafka page "

TEST(of_the_hints_whose_words_occur_the_first_counts)
{
    const char *expired = "ssl://b1:9093/bootstrap: the broker's certificate has expired";

    assert_string_equal(hint_find("kafka", text_of(expired)), "renew it on the broker");
    assert_string_equal(hint_find("row", text_of(expired)), "");
    assert_string_equal(hint_find("kafka", (struct text){expired, 10}), "");
    assert_string_equal(hint_find("row", text_of(NULL)), "");
}

TEST(a_topic_that_has_the_words_of_a_hint_gets_the_advice_for_what_is_wrong)
{
    assert_non_null(strstr(hint_find("row", text_of("no [[route]] matches topic \"inbox_prefix\"")),
                           "add a [[route]] for this topic"));
    assert_non_null(
        strstr(hint_find("row", text_of("the allow list does not permit \"topic name\"")),
               "add it to allow of the [sink]"));
}

TEST(every_line_of_the_file_of_hints_is_found_by_its_words)
{
    for (const struct hint *hint = embedded_hints; hint->where != NULL; hint++) {
        char place[64];

        assert_string_equal(hint_find(hint->where, text_of(hint->words)), hint->advice);
        (void)snprintf(place, sizeof place, " %s ", hint->where);
        assert_non_null(strstr(PLACES, place));
        assert_true(hint->where[0] != '\0' && hint->advice[0] != '\0');
    }
}
