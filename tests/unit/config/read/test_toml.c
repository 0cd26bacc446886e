#include "unit/config/parsed.h"

#include "config/read/file.h"
#include "config/read/toml.h"

static struct toml_node *parse_tree(const char *text)
{
    struct toml_error error;
    struct toml_node *root = toml_parse(text, strlen(text), &error);

    if (root == NULL)
        fail_msg("%d:%d: %s", error.line, error.column, error.text);
    return root;
}

TEST(a_syntax_error_names_line_and_column)
{
    static const struct refusal refusals[] = {
        {"url = shop", "relay.toml:1:7: in value: could not determine value type; a string needs"
                       " quotes"},
        {"\nbatch 5", "relay.toml:2:7: in key-value pair: expected '=', saw '5'"},
        {"a = \"x", "relay.toml:1:7: in string: encountered end-of-file"},
        {"a = 1\na = 2", "relay.toml:2:5: in key-value pair: cannot redefine existing integer 'a'"},
        {"[relay]\n[relay]",
         "relay.toml:2:1: in table header: cannot redefine existing table 'relay'"},
        {"[a", "relay.toml:1:3: in table header: encountered end-of-file"},
        {"a = \"\\u0000\"", "relay.toml:1:5: a NUL character (\\u0000) cannot be part of a string"},
        {"\"a\\u0000\" = 1",
         "relay.toml:1:1: a NUL character (\\u0000) cannot be part of a string"},
        {"a = \"\\ud800\"", "relay.toml:1:12: in unicode scalar sequence: unicode surrogates "
                            "(U+D800 - U+DFFF) are explicitly prohibited"},
    };

    assert_each_refused(REFUSALS(refusals));
}

TEST(a_value_is_not_repeated_by_the_parser)
{
    assert_only_problem(
        "password = 91234567890123456789012345",
        "relay.toml:1:38: in decimal integer: the number is not representable in 64 bits");
    assert_not_shown("password = 1e99999", "1e9");
    assert_not_shown("password = 0x9123456789012345678901234567", "9123");
    assert_not_shown("password = hunter2", "hunter");
    assert_not_shown("password = 0123456", "0123");
}

/* Each of these once hit an assertion or undefined behaviour in the parser. */
TEST(malformed_keys_are_reported_and_do_not_abort)
{
    static const char *const texts[] = {"[.",
                                        "[ ]",
                                        "[",
                                        "[[",
                                        "[=]",
                                        "[a.]",
                                        "[a.",
                                        "a.",
                                        "a.=1",
                                        "= 1",
                                        ".a=1",
                                        "a={.b=1}",
                                        "a={",
                                        "a=[",
                                        "a={b",
                                        "'''a'''=1",
                                        "[[]]",
                                        "[a]]",
                                        "[[a]",
                                        "a=\"\"\"",
                                        "\"",
                                        "'",
                                        "\\",
                                        "a=+",
                                        "a=1_",
                                        "a=0x",
                                        "a=1979-05-27T",
                                        "a=\"\\u12\"",
                                        "a=\"\\",
                                        "[[a]ed.",
                                        "[\n",
                                        "a.\n",
                                        "\r",
                                        "a=1\r",
                                        "\x7f",
                                        "a=\"\"\"\\ x",
                                        "[a\xd0\xa2]",
                                        "a=1 \xc2\xa7",
                                        "a=-1\"\xd0\x8f",
                                        "a=\"\"\"\\\xc3\xa9\"\"\""};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct parsed *parsed = parse_text(texts[i]);

        assert_int_equal(parsed->status, -1);
        assert_int_equal(parsed->problems.count, 1);
        free_parsed(parsed);
    }
}

TEST(invalid_utf_8_is_refused_with_its_position)
{
    static const struct refusal refusals[] = {
        {"a = 1\nb = \"\xff\"", "relay.toml:2:6: invalid UTF-8"},
        {"a = \"\xc3\xa9\xed\xa0\x80\"", "relay.toml:1:7: invalid UTF-8"},
        {"\xc0\x80", "relay.toml:1:1: invalid UTF-8"},
    };

    assert_each_refused(REFUSALS(refusals));
}

TEST(a_key_in_a_message_of_the_parser_is_made_printable)
{
    struct parsed *parsed = parse_text("\"\xc2\x9b\t\x7f\" = 1\n\"\xc2\x9b\t\" = 2\n");
    struct parsed *twice = parse_text("\"\xc2\x9b\t\" = 1\n\"\xc2\x9b\t\" = 2\n");

    assert_int_equal(parsed->problems.count, 1);
    assert_int_equal(twice->problems.count, 1);
    assert_non_null(strstr(twice->problems.lines[0], "cannot redefine existing integer"));
    for (const char *at = twice->problems.lines[0]; *at != '\0'; at++)
        assert_true(*at >= 0x20 && *at < 0x7f);
    free_parsed(parsed);
    free_parsed(twice);
    assert_only_problem("[\n", "relay.toml:1:2: in key: expected bare key starting character or "
                               "string delimiter, saw '\\n'");
}

TEST(a_nul_byte_is_refused_with_its_position)
{
    struct toml_error error;

    assert_int_equal(guard_text("a\n\0", 3, &error), -1);
    assert_int_equal(error.line, 2);
    assert_int_equal(error.column, 1);
}

TEST(a_byte_order_mark_is_accepted)
{
    assert_accepted("\xef\xbb\xbf" MINIMAL);
}

TEST(text_in_strings_and_comments_may_be_any_language)
{
    assert_accepted("# \xd0\xa2\n" MINIMAL "[[route]]\nmatch = \"\xd0\xa2.\\\"\xc3\xa9\"\n");
    assert_accepted(MINIMAL "[[route]]\nmatch = \"\"\"\\\n\xc2\xa7\"\"\"\n");
}

static char *repeated(const char *unit, size_t count, const char *tail)
{
    char *text = calloc(strlen(unit) * count + strlen(tail) + 1, 1);

    assert_non_null(text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + strlen(unit) * i, unit, strlen(unit));
    memcpy(text + strlen(unit) * count, tail, strlen(tail));
    return text;
}

TEST(nesting_is_bounded)
{
    static const char *const units[] = {"a.", "[", "{a=", "\"a\".", "[a.", "'a' . "};
    struct toml_error error;

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        char *text = repeated(units[i], 10000, "");

        assert_int_equal(guard_text(text, strlen(text), &error), -1);
        assert_string_equal(error.text, "nested deeper than 32 levels");
        assert_int_equal(error.line, 1);
        free(text);
    }
}

TEST(brackets_and_dots_in_strings_and_comments_do_not_nest)
{
    static const char *const frames[][2] = {{"# ", "\n"},
                                            {"a = \"\\\"", "\"\n"},
                                            {"a = '", "'\n"},
                                            {"a = \"\"\"\n\\\"\"\"\\\"", "\"\"\"\"\n"},
                                            {"a = ''''", "'''''\n"}};
    char *many = repeated("[.{", 100, "");
    struct toml_error error;

    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        char text[1024];

        (void)snprintf(text, sizeof text, "%s%s%s", frames[i][0], many, frames[i][1]);
        if (guard_text(text, strlen(text), &error) < 0)
            fail_msg("%s: %s", text, error.text);
        toml_free(parse_tree(text));
    }
    free(many);
}

TEST(a_text_of_more_than_1_mib_is_refused)
{
    char *text = repeated("# 456789abcdef\n", CONFIG_FILE_BYTES_MAX / 15, "");
    char *larger = repeated("x", CONFIG_FILE_BYTES_MAX + 1, "");

    assert_refused(text, "relay.toml:1:1: there is no sink; add [sink.NAME] with a type: "
                         "\"kafka\", \"nats\", \"stdout\"");
    assert_only_problem(larger, "relay.toml: file larger than 1 MiB");
    free(text);
    free(larger);
}
