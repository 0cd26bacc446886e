#include "unit/config/parsed.h"

#include "config/keys/keys.h"
#include "config/keys/value.h"

#include <inttypes.h>

static bool is_plain(const struct key *key)
{
    return (key->flags & KEY_ANY_SINK) == 0 && key->section != SECTION_ROUTE;
}

static bool is_ranged(const struct key *key)
{
    return key->type == KEY_INTEGER || key->type == KEY_DURATION || key->type == KEY_SIZE;
}

/* What a rule between two keys requires beside a key at the edge of its range. */
static const char *companion(const char *name)
{
    if (strcmp(name, "backoff") == 0)
        return "backoff_max = \"1h\"\n";
    if (strcmp(name, "backoff_max") == 0)
        return "backoff = \"1ms\"\n";
    if (strcmp(name, "mark") == 0)
        return "where = \"unsent\"\n";
    if (strcmp(name, "park") == 0)
        return "where = \"unsent\"\nmark = \"unsent = false\"\n";
    return strcmp(name, "publish_timeout") == 0 ? "shutdown_timeout = \"1h\"\n" : "";
}

static void write_key(char *out, size_t size, const struct key *key, const char *value)
{
    (void)snprintf(out, size, "[sink.out]\ntype = \"stdout\"\n[%s]\n%s%s = %s\n",
                   section_title(key->section), companion(key->name), key->name, value);
}

static void write_number(char *out, size_t size, const struct key *key, int64_t number)
{
    char text[64];
    const char *quote = value_is_quoted(key) ? "\"" : "";

    if (key->type == KEY_DURATION)
        (void)snprintf(out, size, "\"%" PRId64 "ms\"", number);
    else
        (void)snprintf(out, size, "%s%s%s", quote, value_format(text, sizeof text, key, number),
                       quote);
}

static struct parsed *parse_key(const struct key *key, const char *value)
{
    char text[512];

    write_key(text, sizeof text, key, value);
    return parse_text(text);
}

static struct parsed *parse_number(const struct key *key, int64_t number)
{
    char value[80];

    write_number(value, sizeof value, key, number);
    return parse_key(key, value);
}

TEST(a_key_out_of_range_is_refused_with_its_range)
{
    for (size_t i = 0; i < key_count; i++) {
        char expected[160];
        char min[32];
        char max[32];

        if (!is_plain(&keys[i]) || !is_ranged(&keys[i]))
            continue;
        (void)snprintf(expected, sizeof expected, ": must be %s%s..%s",
                       (keys[i].flags & KEY_ZERO) != 0 ? "\"0\" or " : "",
                       value_format(min, sizeof min, &keys[i], keys[i].min),
                       value_format(max, sizeof max, &keys[i], keys[i].max));
        for (int64_t number = keys[i].min - 1;; number = keys[i].max + 1) {
            struct parsed *parsed = parse_number(&keys[i], number);

            if (number >= 0) {
                assert_int_equal(parsed->problems.count, 1);
                assert_non_null(strstr(parsed->problems.lines[0], expected));
                assert_non_null(strstr(parsed->problems.lines[0], keys[i].name));
            }
            free_parsed(parsed);
            if (number == keys[i].max + 1)
                break;
        }
    }
}

TEST(every_key_refuses_a_table_and_says_what_it_expects)
{
    for (size_t i = 0; i < key_count; i++) {
        struct parsed *parsed;
        char expected[128];

        if (!is_plain(&keys[i]))
            continue;
        parsed = parse_key(&keys[i], "{}");
        (void)snprintf(expected, sizeof expected, "%s: expected ", keys[i].name);
        assert_int_equal(parsed->status, -1);
        assert_non_null(strstr(parsed->problems.lines[0], expected));
        assert_non_null(strstr(parsed->problems.lines[0], ", got a table"));
        free_parsed(parsed);
    }
}

TEST(every_word_is_taken_and_any_other_refused)
{
    for (size_t i = 0; i < key_count; i++) {
        struct parsed *parsed;

        if (!is_plain(&keys[i]) || keys[i].words == NULL)
            continue;
        for (int w = 0; keys[i].words[w] != NULL; w++) {
            char value[64];

            (void)snprintf(value, sizeof value, "\"%s\"", keys[i].words[w]);
            parsed = parse_key(&keys[i], value);
            assert_int_equal(value_number(&keys[i], &parsed->config), w);
            free_parsed(parsed);
        }
        parsed = parse_key(&keys[i], "\"sideways\"");
        assert_int_equal(parsed->problems.count, 1);
        assert_non_null(strstr(parsed->problems.lines[0], "= \"sideways\": must be \""));
        free_parsed(parsed);
    }
}

/* A value of the key's type that is not the default. */
static void other_value(char *out, size_t size, const struct key *key)
{
    if (strcmp(key->name, "url") == 0)
        (void)snprintf(out, size, "\"host=localhost dbname=a\\\"b\\\\\\\\c\"");
    else if (strcmp(key->name, "listen") == 0)
        (void)snprintf(out, size, "\"[::1]:80\"");
    else if (strcmp(key->name, "endpoint") == 0)
        (void)snprintf(out, size, "\"https://[::1]:4318/v1/traces\"");
    else if (key->section == SECTION_TRACE && strcmp(key->name, "headers") == 0)
        (void)snprintf(out, size, "\"a=b\"");
    else if (strcmp(key->name, "preset") == 0)
        (void)snprintf(out, size, "\"okapi\"");
    else if (is_ranged(key))
        write_number(out, size, key, key->max);
    else if (key->words != NULL)
        (void)snprintf(out, size, "\"%s\"", key->words[strcmp(key->initial, key->words[0]) == 0]);
    else if (key->type == KEY_BOOLEAN)
        (void)snprintf(out, size, "%s", strcmp(key->initial, "true") == 0 ? "false" : "true");
    else
        (void)snprintf(out, size, "\"some_name\"");
}

TEST(every_key_survives_being_printed)
{
    struct parsed *defaults = parse_accepted("[sink.out]\ntype = \"stdout\"\n");
    char *default_text = printed(&defaults->config);

    for (size_t i = 0; i < key_count; i++) {
        struct parsed *first;
        struct parsed *second;
        char value[96];
        char *first_text;
        char *second_text;

        if (!is_plain(&keys[i]))
            continue;
        other_value(value, sizeof value, &keys[i]);
        first = parse_key(&keys[i], value);
        if (first->status != 0)
            fail_msg("%s", first->problems.lines[0]);
        first_text = printed(&first->config);
        second = parse_accepted(first_text);
        second_text = printed(&second->config);
        assert_string_equal(first_text, second_text);
        assert_string_not_equal(first_text, default_text);
        free(first_text);
        free(second_text);
        free_parsed(first);
        free_parsed(second);
    }
    free(default_text);
    free_parsed(defaults);
}

TEST(wrong_types_are_named_with_what_was_found)
{
    static const struct refusal refusals[] = {
        {MINIMAL "[relay]\nbatch = \"100\"",
         "relay.toml:6:1: batch: expected an integer, got a string \"100\""},
        {MINIMAL "[relay]\nbatch = 1979-05-27",
         "relay.toml:6:1: batch: expected an integer, got a date"},
        {MINIMAL "[relay]\nbatch = -9223372036854775808",
         "relay.toml:6:1: batch = -9223372036854775808: must be 1..10000"},
        {MINIMAL "[relay]\npoll_interval = 250",
         "relay.toml:6:1: poll_interval: expected a duration such as \"250ms\" or \"10s\", got an "
         "integer 250"},
        {MINIMAL "[relay]\nbatch_bytes = \"8MB\"",
         "relay.toml:6:1: batch_bytes: expected a size such as \"8MiB\", got a string \"8MB\""},
        {MINIMAL "[relay]\nsynchronous_commit = true",
         "relay.toml:6:1: synchronous_commit: expected the string \"on\" or \"off\", got a boolean "
         "true"},
        {MINIMAL "[log]\nformat = \"a\\u001b[31m\"",
         "relay.toml:6:1: format = \"a\\x1b[31m\": must be \"text\", \"json\" or \"logfmt\""},
        {MINIMAL "[database]\npassword_file = \"\"",
         "relay.toml:6:1: password_file: must not be empty"},
    };

    assert_each_refused(REFUSALS(refusals));
}

TEST(retention_is_0_or_a_second_and_more)
{
    struct parsed *parsed = parse_accepted(
        "[outbox]\norder = \"none\"\nretention = \"0\"\n[sink.out]\ntype = \"stdout\"\n");

    assert_int_equal(parsed->config.relay.outbox.retention_ms, 0);
    free_parsed(parsed);
    assert_only_problem(
        "[outbox]\norder = \"none\"\nretention = \"999ms\"\n[sink.out]\ntype = \"stdout\"\n",
        "relay.toml:3:1: retention = \"999ms\": must be \"0\" or 1s..3650d");
}

TEST(a_condition_is_one_line_of_512_bytes_at_most)
{
    char text[700];
    char where[514];

    memset(where, 'x', sizeof where - 1);
    where[512] = '\0';
    (void)snprintf(text, sizeof text, "[sink.out]\ntype = \"stdout\"\n[outbox]\nwhere = \"%s\"\n",
                   where);
    assert_accepted(text);
    where[512] = 'x';
    where[513] = '\0';
    (void)snprintf(text, sizeof text, "[sink.out]\ntype = \"stdout\"\n[outbox]\nwhere = \"%s\"\n",
                   where);
    assert_refused(text, "relay.toml:4:1: where: longer than 512 bytes");
    assert_refused("[sink.out]\ntype = \"stdout\"\n[outbox]\nwhere = \"a\\nOR b\"\n",
                   "relay.toml:4:1: where: must be one line without tabs");
    assert_refused("[sink.out]\ntype = \"stdout\"\n[outbox]\nwhere = \"\"\n",
                   "relay.toml:4:1: where: must not be empty");
}

TEST(the_lists_that_mark_and_park_need_a_condition)
{
#define LISTS "[sink.out]\ntype = \"stdout\"\n[outbox]\n"
    assert_accepted(LISTS "where = \"a\"\nmark = \"a = b\"\npark = \"a = $error\"\n");
    assert_accepted(LISTS "where = \"a\"\non_sent = \"delete\"\npark = \"a = $error\"\n");
    assert_refused(LISTS "mark = \"a = b\"\n",
                   "relay.toml:4:1: mark: needs a `where` that is true for unsent rows, and no"
                   " longer once a row is marked");
    assert_refused(LISTS "on_sent = \"delete\"\nwhere = \"a\"\nmark = \"a = b\"\n",
                   "relay.toml:6:1: mark: has no use with on_sent = \"delete\"");
    assert_refused(LISTS "on_sent = \"delete\"\npark = \"a = b\"\n",
                   "relay.toml:5:1: park: needs a `where` that is true for unsent rows, and no"
                   " longer once a row is parked");
    assert_refused(
        LISTS "where = \"a\"\npark = \"a = b\"\n",
        "relay.toml:5:1: park: needs a `mark` too, which says of the row that it has been"
        " sent");
}
