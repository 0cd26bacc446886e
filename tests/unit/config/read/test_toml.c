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

static void assert_position(const struct toml_node *node, int line, int column)
{
    assert_int_equal(node->line, line);
    assert_int_equal(node->column, column);
}

static void values_keep_their_types(void **state)
{
    struct toml_node *root = parse_tree("a = 'x'\nb = -5\nc = 1.5\nd = true\ne = [1]\nf = {}\n"
                                        "g = 1979-05-27\nh = 07:32:00\ni = 1979-05-27T07:32:00Z\n");
    static const enum toml_type types[] = {TOML_STRING,  TOML_INTEGER, TOML_FLOAT,
                                           TOML_BOOLEAN, TOML_ARRAY,   TOML_TABLE,
                                           TOML_DATE,    TOML_DATE,    TOML_DATE};

    (void)state;
    assert_int_equal(root->count, 9);
    for (int i = 0; i < 9; i++)
        assert_int_equal(root->children[i].type, types[i]);
    assert_string_equal(toml_find(root, "a")->string, "x");
    assert_int_equal(toml_find(root, "b")->integer, -5);
    assert_true(toml_find(root, "c")->real > 1.4);
    assert_true(toml_find(root, "d")->boolean);
    toml_free(root);
}

static void children_stand_in_file_order(void **state)
{
    struct toml_node *root = parse_tree("[z]\nb = 1\na = 2\n[y]\n[[x]]\n[[x]]\n[w.v]\n");
    static const char *const keys[] = {"z", "y", "x", "w"};

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_string_equal(root->children[i].key, keys[i]);
    assert_string_equal(root->children[0].children[0].key, "b");
    assert_string_equal(root->children[0].children[1].key, "a");
    toml_free(root);
}

static void positions_are_those_of_keys_headers_and_items(void **state)
{
    struct toml_node *root =
        parse_tree("a = [1,\n 2]\n [b]\n  \"c.d\" = 1\n[[e]]\n[[e]]\nf = {g = 1}");

    (void)state;
    assert_position(root, 1, 1);
    assert_position(&toml_find(root, "a")->children[1], 2, 2);
    assert_position(toml_find(root, "b"), 3, 2);
    assert_position(toml_find(toml_find(root, "b"), "c.d"), 4, 3);
    assert_position(&toml_find(root, "e")->children[1], 6, 1);
    assert_position(toml_find(&toml_find(root, "e")->children[1], "f"), 7, 1);
    toml_free(root);
}

static void a_key_of_what_is_no_table_is_not_found(void **state)
{
    struct toml_node *root = parse_tree("a = 1");

    (void)state;
    assert_null(toml_find(root, "b"));
    assert_null(toml_find(toml_find(root, "a"), "b"));
    assert_null(toml_find(NULL, "b"));
    toml_free(root);
}

static void a_syntax_error_names_line_and_column(void **state)
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

    (void)state;
    assert_each_refused(REFUSALS(refusals));
}

static void a_value_is_not_repeated_by_the_parser(void **state)
{
    (void)state;
    assert_only_problem(
        "password = 91234567890123456789012345",
        "relay.toml:1:38: in decimal integer: the number is not representable in 64 bits");
    assert_not_shown("password = 1e99999", "1e9");
    assert_not_shown("password = 0x9123456789012345678901234567", "9123");
    assert_not_shown("password = hunter2", "hunter");
    assert_not_shown("password = 0123456", "0123");
}

/* Each of these once hit an assertion or undefined behaviour in the parser. */
static void malformed_keys_are_reported_and_do_not_abort(void **state)
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

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct parsed *parsed = parse_text(texts[i]);

        assert_int_equal(parsed->status, -1);
        assert_int_equal(parsed->problems.count, 1);
        free_parsed(parsed);
    }
}

static void invalid_utf_8_is_refused_with_its_position(void **state)
{
    static const struct refusal refusals[] = {
        {"a = 1\nb = \"\xff\"", "relay.toml:2:6: invalid UTF-8"},
        {"a = \"\xc3\xa9\xed\xa0\x80\"", "relay.toml:1:7: invalid UTF-8"},
        {"\xc0\x80", "relay.toml:1:1: invalid UTF-8"},
    };

    (void)state;
    assert_each_refused(REFUSALS(refusals));
}

static void a_key_in_a_message_of_the_parser_is_made_printable(void **state)
{
    struct parsed *parsed = parse_text("\"\xc2\x9b\t\x7f\" = 1\n\"\xc2\x9b\t\" = 2\n");
    struct parsed *twice = parse_text("\"\xc2\x9b\t\" = 1\n\"\xc2\x9b\t\" = 2\n");

    (void)state;
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

static void a_nul_byte_is_refused_with_its_position(void **state)
{
    struct toml_error error;

    (void)state;
    assert_int_equal(guard_text("a\n\0", 3, &error), -1);
    assert_int_equal(error.line, 2);
    assert_int_equal(error.column, 1);
}

static void a_byte_order_mark_is_accepted(void **state)
{
    (void)state;
    assert_accepted("\xef\xbb\xbf" MINIMAL);
}

static void text_in_strings_and_comments_may_be_any_language(void **state)
{
    (void)state;
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

static void nesting_is_bounded(void **state)
{
    static const char *const units[] = {"a.", "[", "{a=", "\"a\".", "[a.", "'a' . "};
    struct toml_error error;

    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        char *text = repeated(units[i], 10000, "");

        assert_int_equal(guard_text(text, strlen(text), &error), -1);
        assert_string_equal(error.text, "nested deeper than 32 levels");
        assert_int_equal(error.line, 1);
        free(text);
    }
}

static void brackets_and_dots_in_strings_and_comments_do_not_nest(void **state)
{
    static const char *const frames[][2] = {{"# ", "\n"},
                                            {"a = \"\\\"", "\"\n"},
                                            {"a = '", "'\n"},
                                            {"a = \"\"\"\n\\\"\"\"\\\"", "\"\"\"\"\n"},
                                            {"a = ''''", "'''''\n"}};
    char *many = repeated("[.{", 100, "");
    struct toml_error error;

    (void)state;
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        char text[1024];

        (void)snprintf(text, sizeof text, "%s%s%s", frames[i][0], many, frames[i][1]);
        if (guard_text(text, strlen(text), &error) < 0)
            fail_msg("%s: %s", text, error.text);
        toml_free(parse_tree(text));
    }
    free(many);
}

static void many_keys_and_headers_are_not_deep(void **state)
{
    char *text = repeated("[[a.b]]\nc.d = [1.5, 2.5]\n", 1000, "");
    struct toml_error error;

    (void)state;
    assert_int_equal(guard_text(text, strlen(text), &error), 0);
    free(text);
}

static void a_text_of_more_than_1_mib_is_refused(void **state)
{
    char *text = repeated("# 456789abcdef\n", CONFIG_FILE_BYTES_MAX / 15, "");
    char *larger = repeated("x", CONFIG_FILE_BYTES_MAX + 1, "");

    (void)state;
    assert_refused(text, "relay.toml:1:1: there is no sink; add [sink.NAME] with a type: "
                         "\"kafka\", \"nats\", \"stdout\"");
    assert_only_problem(larger, "relay.toml: file larger than 1 MiB");
    free(text);
    free(larger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_keep_their_types),
        cmocka_unit_test(children_stand_in_file_order),
        cmocka_unit_test(positions_are_those_of_keys_headers_and_items),
        cmocka_unit_test(a_key_of_what_is_no_table_is_not_found),
        cmocka_unit_test(a_syntax_error_names_line_and_column),
        cmocka_unit_test(a_value_is_not_repeated_by_the_parser),
        cmocka_unit_test(malformed_keys_are_reported_and_do_not_abort),
        cmocka_unit_test(invalid_utf_8_is_refused_with_its_position),
        cmocka_unit_test(a_key_in_a_message_of_the_parser_is_made_printable),
        cmocka_unit_test(a_nul_byte_is_refused_with_its_position),
        cmocka_unit_test(a_byte_order_mark_is_accepted),
        cmocka_unit_test(text_in_strings_and_comments_may_be_any_language),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(brackets_and_dots_in_strings_and_comments_do_not_nest),
        cmocka_unit_test(many_keys_and_headers_are_not_deep),
        cmocka_unit_test(a_text_of_more_than_1_mib_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
