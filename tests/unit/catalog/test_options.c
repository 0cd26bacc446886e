#include "catalog/options.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static const char *const default_names[COLUMN_COUNT] = {
    [COLUMN_ID] = "id",           [COLUMN_EVENT_ID] = "event_id",
    [COLUMN_TOPIC] = "topic",     [COLUMN_KEY] = "key",
    [COLUMN_TYPE] = "type",       [COLUMN_PAYLOAD] = "payload",
    [COLUMN_HEADERS] = "headers", [COLUMN_CREATED_AT] = "created_at",
    [COLUMN_SENT_AT] = "sent_at",
};

/* debezium.io, "Outbox Event Router", the basic outbox table; sent_at is ours. */
static const char *const debezium_names[COLUMN_COUNT] = {
    [COLUMN_ID] = "id",           [COLUMN_EVENT_ID] = "id",   [COLUMN_TOPIC] = "aggregatetype",
    [COLUMN_KEY] = "aggregateid", [COLUMN_TYPE] = "type",     [COLUMN_PAYLOAD] = "payload",
    [COLUMN_HEADERS] = NULL,      [COLUMN_CREATED_AT] = NULL, [COLUMN_SENT_AT] = "sent_at",
};

static void assert_columns(enum preset preset, const char *const want[COLUMN_COUNT])
{
    struct outbox_options options = {.preset = preset};

    for (int i = 0; i < COLUMN_COUNT; i++) {
        const char *name = outbox_column(&options, (enum column)i);

        if (want[i] == NULL)
            assert_null(name);
        else
            assert_string_equal(name, want[i]);
    }
}

TEST(each_column_is_mapped_by_the_name_of_its_meaning)
{
    for (int i = 0; i < COLUMN_COUNT; i++)
        assert_string_equal(column_name((enum column)i), default_names[i]);
}

TEST(the_default_preset_has_the_columns_of_our_own_table)
{
    assert_columns(PRESET_DEFAULT, default_names);
}

TEST(the_debezium_preset_has_the_columns_of_its_event_router)
{
    assert_columns(PRESET_DEBEZIUM, debezium_names);
}

TEST(a_mapped_column_wins_over_the_preset)
{
    static char mine[] = "mine";
    static const enum preset presets[] = {PRESET_DEFAULT, PRESET_DEBEZIUM};

    for (int p = 0; p < 2; p++)
        for (int mapped = 0; mapped < COLUMN_COUNT; mapped++) {
            const char *const *preset = p == 0 ? default_names : debezium_names;
            struct outbox_options options = {.preset = presets[p]};
            int other = (mapped + 1) % COLUMN_COUNT;

            options.columns[mapped] = mine;
            assert_string_equal(outbox_column(&options, (enum column)mapped), "mine");
            if (preset[other] != NULL)
                assert_string_equal(outbox_column(&options, (enum column)other), preset[other]);
        }
}

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

TEST(a_schema_name_has_at_most_63_bytes)
{
    char name[128];

    name_of(name, "", 63);
    memcpy(name + 63, ".t", 3);
    assert_null(outbox_table_name_problem(name));
    name_of(name, "", 64);
    memcpy(name + 64, ".t", 3);
    assert_non_null(outbox_table_name_problem(name));
}
