#include "source/options.h"
#include "test.h"

#include <string.h>

TEST(an_empty_value_is_none_and_parentheses_hold_an_expression)
{
    char empty[] = "";
    struct outbox_options options = {.columns = {[COLUMN_HEADERS] = empty}};
    char longest[2049];

    assert_null(outbox_column(&options, COLUMN_HEADERS));
    assert_null(outbox_value_problem(""));
    assert_true(outbox_is_expression("(a || b)"));
    assert_false(outbox_is_expression("a"));
    assert_null(outbox_value_problem("(a || '\"')"));
    assert_non_null(outbox_value_problem("(a || b"));
    assert_non_null(outbox_value_problem("(a || b) c"));
    assert_non_null(outbox_value_problem("(a ||\nb)"));
    memset(longest, ')', sizeof longest);
    longest[0] = '(';
    longest[2048] = '\0';
    assert_null(outbox_value_problem(longest));
}

/* With a mark of its own a table need not have sent_at; a column of that name is the application's.
 */
TEST(with_a_mark_sent_at_is_only_the_column_that_is_named)
{
    static char mark[] = "status = 'SENT'";
    static char named[] = "sent_on";
    struct outbox_options options = {.mark = mark};

    assert_null(outbox_column(&options, COLUMN_SENT_AT));
    options.columns[COLUMN_SENT_AT] = named;
    assert_string_equal(outbox_column(&options, COLUMN_SENT_AT), "sent_on");
}

/* ---- names ---- */

static const char *table_problem(const char *written)
{
    char schema[OUTBOX_NAME_BYTES];
    char table[OUTBOX_NAME_BYTES];

    return outbox_read_table(written, schema, table);
}

static const char *column_problem(const char *written)
{
    char column[OUTBOX_NAME_BYTES];

    return outbox_read_column(written, column);
}

static const char *const good_tables[] = {
    "outbox",
    "public.outbox",
    "Outbox",
    "_o",
    "o$1",
    "SCHEMA.TABLE",
    "tenant-42.outbox",
    "my outbox",
    "1a.$b",
    "Ereignisse \xC3\xBC",
    "a'b",
    "a;b--",
    "50%",
    "a\\b",
    "@id@",
};

static const char *const bad_tables[][2] = {
    {"", "empty name"},
    {".", "empty name"},
    {"a.", "empty name"},
    {".a", "empty name"},
    {"a.b.c", "more than one dot"},
    {"a..b", "empty name"},
    {"a\"b", "double quote"},
    {"a.b\"", "double quote"},
    {"\"", "without its closing quote"},
    {"\"a", "without its closing quote"},
    {"\"a\"\"", "without its closing quote"},
    {"a.\"b", "without its closing quote"},
    {"\"\"", "empty name"},
    {"\"\".a", "empty name"},
    {"\"a\"b", "behind the closing quote"},
    {"\"a\" .b", "behind the closing quote"},
    {"\"a\".\"b\".\"c\"", "more than one dot"},
    {"\"a\nb\"", "control character"},
    {"\"\xC3\"", "UTF-8"},
    {"a\nb", "control character"},
    {"a\tb.c", "control character"},
    {"a\x7F", "control character"},
    {"outbox ", "blank"},
    {" outbox", "blank"},
    {"a. b", "blank"},
    {"a .b", "blank"},
    {"\xC3", "UTF-8"},
};

TEST(a_table_is_named_alone_or_behind_a_schema)
{
    for (size_t i = 0; i < sizeof good_tables / sizeof good_tables[0]; i++)
        if (table_problem(good_tables[i]) != NULL)
            fail_msg("\"%s\" was refused", good_tables[i]);
    for (size_t i = 0; i < sizeof bad_tables / sizeof bad_tables[0]; i++) {
        const char *problem = table_problem(bad_tables[i][0]);

        if (problem == NULL || strstr(problem, bad_tables[i][1]) == NULL)
            fail_msg("\"%s\": %s", bad_tables[i][0], problem != NULL ? problem : "accepted");
    }
}

TEST(every_character_of_a_name_is_checked)
{
    for (int byte = 1; byte < 0x80; byte++)
        for (int at = 0; at < 3; at++) {
            char column[] = "abc";
            char table[] = "s.abc";
            bool is_edge = byte == ' ' && at != 1;
            bool good = byte >= ' ' && byte != 0x7F && byte != '"' && !is_edge;

            column[at] = table[2 + at] = (char)byte;
            assert_int_equal(column_problem(column) == NULL, good);
            assert_int_equal(table_problem(table) == NULL, good && byte != '.');
        }
}

static const char *name_of(char *out, const char *schema, size_t len)
{
    size_t used = strlen(schema);

    memcpy(out, schema, used);
    memset(out + used, 'n', len);
    out[used + len] = '\0';
    return out;
}

/* PostgreSQL cuts a longer identifier, so that it names another object. */
TEST(a_column_name_has_at_most_63_bytes)
{
    char name[128];

    assert_non_null(column_problem(""));
    assert_non_null(column_problem("\"\""));
    assert_null(column_problem(name_of(name, "", 1)));
    assert_null(column_problem(name_of(name, "", 63)));
    assert_non_null(column_problem(name_of(name, "", 64)));
    assert_null(column_problem("a.b"));
}

TEST(a_table_name_has_at_most_63_bytes)
{
    char name[128];

    assert_null(table_problem(name_of(name, "", 63)));
    assert_null(table_problem(name_of(name, "s.", 63)));
    assert_non_null(table_problem(name_of(name, "", 64)));
    assert_non_null(table_problem(name_of(name, "s.", 64)));
}

TEST(a_schema_name_has_at_most_63_bytes)
{
    char name[128];

    name_of(name, "", 63);
    memcpy(name + 63, ".t", 3);
    assert_null(table_problem(name));
    name_of(name, "", 64);
    memcpy(name + 64, ".t", 3);
    assert_non_null(table_problem(name));
}

/* As SQL reads quoted names; the others are taken as they are. */
TEST(a_name_in_double_quotes_may_have_dots_and_quotes)
{
    static const char *const cases[][3] = {
        {"outbox", "", "outbox"},
        {"Shop.Outbox", "Shop", "Outbox"},
        {"\"outbox\"", "", "outbox"},
        {"\"tenant-42\".\"Outbox Messages\"", "tenant-42", "Outbox Messages"},
        {"public.\"a.b\"", "public", "a.b"},
        {"\"a.b\".c", "a.b", "c"},
        {"\"say \"\"hi\"\"\"", "", "say \"hi\""},
        {"\"\"\"\"", "", "\""},
        {"\" a \".\" \"", " a ", " "},
        {"\"Gr\xC3\xB6\xC3\x9F"
         "e\"",
         "",
         "Gr\xC3\xB6\xC3\x9F"
         "e"},
    };
    char quoted[2 * OUTBOX_NAME_BYTES + 3];
    char schema[OUTBOX_NAME_BYTES];
    char table[OUTBOX_NAME_BYTES];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(outbox_read_table(cases[i][0], schema, table));
        assert_string_equal(schema, cases[i][1]);
        assert_string_equal(table, cases[i][2]);
    }
    for (int len = 63; len <= 64; len++) { /* of quotes alone */
        (void)memset(quoted, '"', sizeof quoted);
        quoted[2 * len + 2] = '\0';
        assert_int_equal(outbox_read_column(quoted, table) == NULL, len == 63);
    }
    assert_null(outbox_read_column("\"a.b\"", table));
    assert_string_equal(table, "a.b");
    assert_null(outbox_read_column("a.b", table));
    assert_string_equal(table, "a.b");
    assert_null(outbox_read_column("\"(x)\"", table));
    assert_string_equal(table, "(x)");
    assert_non_null(outbox_read_column("\"a\".b", table));
}

TEST(toml_takes_a_name_between_the_quotes_that_are_chosen)
{
    assert_string_equal(outbox_toml_quotes("public.outbox"), "\"");
    assert_string_equal(outbox_toml_quotes("it's"), "\"");
    assert_string_equal(outbox_toml_quotes("\"a.b\".c"), "'");
    assert_string_equal(outbox_toml_quotes("a\\b"), "'");
    assert_string_equal(outbox_toml_quotes("\"it's.b\""), "'''");
}
