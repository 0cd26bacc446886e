#include "source/json.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static void expect_dump(json_t *document, const char *expected)
{
    char *text = status_dump(document);

    assert_string_equal(text, expected);
    free(text);
    json_decref(document);
}

TEST(what_is_for_the_program_alone_is_not_shown)
{
    expect_dump(json_pack("{s:i, s:i, s:{s:i, s:n}, s:[{s:i, s:f}, n]}", "_unknown", 1, "backlog",
                          5, "storage", "_held", 1, "held_rows", "sinks", "_up", 1, "age", 62.5),
                "{\"backlog\":5,\"storage\":{\"held_rows\":null},\"sinks\":[{\"age\":62.5},null]}");
}

/* A terminal obeys controls beyond ASCII too, and shows text in the direction that a character
 * demands. */
TEST(a_text_is_written_in_ascii_and_one_that_is_not_utf_8_is_escaped)
{
    expect_dump(json_pack("{s:o}", "error", pack_text("caf\u00e9 \u202eevil \xc2\x9b")),
                "{\"error\":\"caf\\u00E9 \\u202Eevil \\u009B\"}");
    expect_dump(json_pack("{s:o}", "error", pack_text("refused \xff")),
                "{\"error\":\"refused \\\\xff\"}");
}

TEST(what_is_unknown_is_null_and_a_time_is_rfc_3339)
{
    expect_dump(json_pack("[o, o, o, o]", number_or_null(-1), number_or_null(1.5),
                          pack_time(1790000000123), pack_time(0)),
                "[null,1.5,\"2026-09-21T14:13:20.123Z\",null]");
}
