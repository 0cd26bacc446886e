#include "catalog/options.h"
#include "test.h"

#include <string.h>

/* ---- names ---- */

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
    {"a..b", "more than one dot"},
    {"\"", "double quote"},
    {"\"a\"", "double quote"},
    {"a.\"b\"", "double quote"},
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
        if (outbox_table_name_problem(good_tables[i]) != NULL)
            fail_msg("\"%s\" was refused", good_tables[i]);
    for (size_t i = 0; i < sizeof bad_tables / sizeof bad_tables[0]; i++) {
        const char *problem = outbox_table_name_problem(bad_tables[i][0]);

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
            assert_int_equal(outbox_column_name_problem(column) == NULL, good);
            assert_int_equal(outbox_table_name_problem(table) == NULL, good && byte != '.');
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

    assert_non_null(outbox_column_name_problem(""));
    assert_null(outbox_column_name_problem(name_of(name, "", 1)));
    assert_null(outbox_column_name_problem(name_of(name, "", 63)));
    assert_non_null(outbox_column_name_problem(name_of(name, "", 64)));
    assert_null(outbox_column_name_problem("a.b"));
}

TEST(a_table_name_leaves_room_for_those_of_the_relays_own_tables)
{
    char name[128];

    for (size_t len = 1; len <= 63 - strlen("_parked_due_idx"); len++)
        assert_null(outbox_table_name_problem(name_of(name, "", len)));
    for (size_t len = 63 - strlen("_parked_due_idx") + 1; len < 100; len++) {
        assert_non_null(outbox_table_name_problem(name_of(name, "", len)));
        assert_non_null(outbox_table_name_problem(name_of(name, "s.", len)));
    }
}
