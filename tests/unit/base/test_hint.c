#include "base/hint.h"
#include "test.h"

#include <string.h>

#define PLACES " row settle connect connect-later kafka "

TEST(of_the_hints_whose_words_occur_the_first_counts)
{
    const char *expired = "ssl://b1:9093/bootstrap: the broker's certificate has expired";

    assert_string_equal(hint_find("kafka", text_of(expired)), "renew it on the broker");
    assert_string_equal(hint_find("row", text_of(expired)), "");
    assert_string_equal(hint_find("kafka", (struct text){expired, 10}), "");
    assert_string_equal(hint_find("row", text_of(NULL)), "");
}

TEST(every_line_of_the_file_of_hints_is_found_by_its_words)
{
    for (const struct hint *hint = embedded_hints; hint->where != NULL; hint++) {
        assert_string_equal(hint_find(hint->where, text_of(hint->words)), hint->advice);
        assert_non_null(strstr(PLACES, hint->where));
        assert_true(hint->where[0] != '\0' && hint->advice[0] != '\0');
    }
}
