/* The built program's `dead list` and `dead show`, and where `status` and `check` speak of parked
 * rows. */
#include "integration/program.h"

#include "route/match.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

FIXTURE(set_up, fixture_close)

/* Rows in the order of their ids: dead, due some day, behind a row of its key, sent. */
static void park_four(struct fixture *fixture)
{
    sql(fixture->conn,
        "INSERT INTO outbox_parked (id, event_id, topic, key, type, payload, headers, created_at,"
        " state, attempts, due, error, parked_at, sent_at) VALUES"
        " (1, '00000000-0000-0000-0000-0000000000a1', 'order.paid', 'k1', 'Paid', '{\"n\": 1}',"
        "  '{\"h\": \"v\"}', '2026-01-02 03:04:05Z', 'dead', 10, NULL, 'broken',"
        "  '2026-01-02 03:05:00Z', NULL),"
        " (2, '00000000-0000-0000-0000-0000000000a2', 'order.shipped', NULL, NULL, NULL, NULL,"
        "  now(), 'retry', 3, '2036-05-06 07:08:09Z', 'away', now() - interval '2 hours', NULL),"
        " (3, '00000000-0000-0000-0000-0000000000a3', 'stock', NULL, 'Paid', '3', NULL, now(),"
        "  'behind', 0, NULL, 'no such stream', now(), NULL),"
        " (4, '00000000-0000-0000-0000-0000000000a4', 'stock', NULL, 'Paid', '4', NULL, now(),"
        "  'sent', 1, NULL, NULL, now(), now())");
}

/* The first column of each row of `dead list`, separated by commas. */
static const char *listed(struct fixture *fixture)
{
    static char ids[4096];
    const char *line = fixture->process.out;

    ids[0] = '\0';
    line += strncmp(line, "id\t", 3) == 0 ? strcspn(line, "\n") + 1 : 0;
    while (*line != '\0') {
        size_t len = strlen(ids);

        (void)snprintf(ids + len, sizeof ids - len, "%s%.*s", len > 0 ? "," : "",
                       (int)strcspn(line, "\t\n"), line);
        line += strcspn(line, "\n") + 1;
    }
    return ids;
}

#define LIST(fixture, ...)                                                                         \
    (expect(fixture, run(fixture, "dead", "list", "-c", (fixture)->config, __VA_ARGS__), 0),       \
     listed(fixture))

FIXTURE_TEST(list_shows_waiting_and_dead_rows_the_newest_first)
{
    expect_run(fixture, 0, "dead", "list");
    assert_string_equal(fixture->process.out, "");
    park_four(fixture);
    expect_run(fixture, 0, "dead", "list");
    assert_string_equal(
        fixture->process.out,
        "id\tstate\tevent_id\ttopic\tkey\ttype\tattempts\terror\n"
        "3\tbehind\t00000000-0000-0000-0000-0000000000a3\tstock\t-\tPaid\t0\tno such stream\n"
        "2\tretry, next try at "
        "2036-05-06T07:08:09Z\t00000000-0000-0000-0000-0000000000a2\torder.shipped\t-\t-\t3"
        "\taway\n"
        "1\tdead\t00000000-0000-0000-0000-0000000000a1\torder.paid\tk1\tPaid\t10\tbroken\n");
    assert_string_equal(LIST(fixture, "--all"), "3,2,1");
}

FIXTURE_TEST(on_a_terminal_a_row_has_columns_and_its_error_a_line_below_it)
{
    char command[1024];
    char head[256];
    char line[256];
    char below[256];
    FILE *pipe;

    park_four(fixture);
    sql(fixture->conn, "UPDATE outbox_parked SET topic = repeat('t', 100), key = repeat('k', 100),"
                       " error = repeat('e', 200) WHERE id = 3");
    (void)snprintf(command, sizeof command,
                   "script -qec 'stty cols 80 rows 24; %s dead list -c %s --type Paid --limit 1'"
                   " /dev/null",
                   harness_env("RELAY"), fixture->config);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(head, sizeof head, pipe));
    assert_non_null(fgets(line, sizeof line, pipe));
    assert_non_null(fgets(below, sizeof below, pipe));
    assert_null(fgets(command, sizeof command, pipe));
    (void)pclose(pipe);
    assert_int_equal(strstr(head, "topic") - head, strstr(line, "ttt") - line);
    assert_int_equal(strstr(head, "key") - head, strstr(line, "kkk") - line);
    assert_int_equal(strcspn(head, "\r\n"), 80);
    assert_in_range(strcspn(line, "\r\n"), 60, 80);
    assert_int_equal(strcspn(below, "\r\n"), 80);
    assert_memory_equal(below, "    eee", 7);
}

FIXTURE_TEST(the_list_ends_at_its_limit)
{
    park_four(fixture);
    assert_string_equal(LIST(fixture, "--limit", "2"), "3,2");
    assert_string_equal(LIST(fixture, "--limit", "5000"), "3,2,1");
    expect_run(fixture, 2, "dead", "list", "--limit", "0");
    expect_run(fixture, 2, "dead", "retry", "1", "--limit", "1");
    assert_says(fixture->process.err, "option does not apply here: \"limit\"");
    sql(fixture->conn,
        "INSERT INTO outbox_parked (id, event_id, topic, created_at, state) SELECT i,"
        " gen_random_uuid(), 'many', now(), 'dead' FROM generate_series(1, 2500) i");
    expect_run(fixture, 0, "dead", "list", "--topic", "many", "--limit", "1500");
    assert_int_equal(count_lines(fixture->process.out), 1 + 1500);
}

TEST(a_row_says_its_state_and_when_it_is_tried)
{
    static const struct {
        const char *state;
        const char *due;
        const char *waits_for;
        const char *words;
    } cases[] = {{"retry", "now() + interval '30.5 s'", "NULL", "\tretry, next try in 3"},
                 {"retry", "now() + interval '9.5 min'", "NULL", "\tretry, next try in 10 min\t"},
                 {"retry", "now() - interval '1 s'", "NULL", "\tretry, next try now\t"},
                 {"behind", "NULL", "NULL", "\tbehind\t"},
                 {"waiting", "NULL", "'out/stock'", "\twaiting\t"},
                 {"waiting", "now()", "'out/stock'", "\twaiting, next try now\t"},
                 {"paused", "now()", "'paused topic stock'", "\tpaused\t"},
                 {"refused", "now()", "NULL", "\trefused, next try now\t"},
                 {"unsettled", "now()", "NULL", "\tunsettled, next try now\t"},
                 {"dead", "NULL", "NULL", "\tdead\t"}};
    struct fixture *fixture = *state;

    park_four(fixture);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sql(fixture->conn,
            "UPDATE outbox_parked SET state = '%s', due = %s, waits_for = %s WHERE id = 1",
            cases[i].state, cases[i].due, cases[i].waits_for);
        expect_run(fixture, 0, "dead", "list", "--topic", "order.paid");
        assert_says(fixture->process.out, cases[i].words);
    }
}

FIXTURE_TEST(list_is_filtered_by_type_topic_and_time)
{
    park_four(fixture);
    assert_string_equal(LIST(fixture, "--type", "Paid"), "3,1");
    assert_string_equal(LIST(fixture, "--type", "paid"), "");
    assert_string_equal(LIST(fixture, "--topic", "order.paid"), "1");
    assert_string_equal(LIST(fixture, "--topic", "order.*"), "2,1");
    assert_string_equal(LIST(fixture, "--topic", ">"), "3,2,1");
    assert_string_equal(LIST(fixture, "--topic", "*"), "3");
    assert_string_equal(LIST(fixture, "--topic", "' OR true --"), "");
    assert_string_equal(LIST(fixture, "--since", "1h"), "3");
    assert_string_equal(LIST(fixture, "--since", "3h"), "3,2");
    assert_string_equal(LIST(fixture, "--since", "0"), "");
    assert_string_equal(LIST(fixture, "--since", "2026-01-02 03:05"), "3,2,1");
    assert_string_equal(LIST(fixture, "--since", "2026-01-02T03:05:01Z"), "3,2");
    assert_string_equal(LIST(fixture, "--since", "3h", "--topic", "order.>", "--all"), "2");
    assert_string_equal(LIST(fixture, "--type", "Paid", "--topic", "order.>"), "1");
}

FIXTURE_TEST(a_time_that_postgresql_does_not_know_is_a_usage_error)
{
    static const char *const times[] = {"2026-13-45", "2026-01-31x", "2026-01-31 25:00",
                                        "9999999-01-01", "100000000d"};

    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        expect_run(fixture, 2, "dead", "list", "--since", times[i]);
        assert_says(fixture->process.err, times[i]);
    }
}

/* A topic of up to four tokens, odd ones among them. */
static void put_random_topic(char out[64], unsigned *seed)
{
    static const char *const tokens[] = {"a", "b", "*", ">", "", "a+", "(b", "a*", "\\d", "."};
    int count = 1 + rand_r(seed) % 4;

    out[0] = '\0';
    for (int i = 0; i < count; i++) {
        size_t len = strlen(out);

        (void)snprintf(out + len, 64 - len, "%s%s", i > 0 ? "." : "",
                       tokens[(unsigned)rand_r(seed) % (sizeof tokens / sizeof *tokens)]);
    }
}

static bool is_chosen(const char *filter, const char *topic)
{
    struct match match;
    char why[128];
    bool matches;

    if (strcmp(filter, topic) == 0)
        return true;
    if (match_parse(&match, filter, why, sizeof why) < 0)
        return false;
    matches = match_topic(&match, text_of(topic));
    match_free(&match);
    return matches;
}

FIXTURE_TEST(a_topic_filter_chooses_what_a_route_would_match)
{
    unsigned seed = (unsigned)time(NULL);
    char topics[60][64];

    print_message("seed %u\n", seed);
    for (int i = 0; i < 60; i++) {
        const char *value[1] = {topics[i]};

        put_random_topic(topics[i], &seed);
        PQclear(PQexecParams(
            fixture->conn,
            "INSERT INTO outbox_parked (event_id, topic, created_at, state, id)"
            " SELECT gen_random_uuid(), $1, now(), 'dead', count(*) FROM outbox_parked",
            1, NULL, value, NULL, NULL, 0));
    }
    for (int i = 0; i < 60; i++) {
        char expected[512] = "";

        for (int j = 59; j >= 0; j--) {
            size_t len = strlen(expected);

            if (is_chosen(topics[i], topics[j]))
                (void)snprintf(expected + len, sizeof expected - len, "%s%d", len > 0 ? "," : "",
                               j);
        }
        if (strcmp(LIST(fixture, "--topic", topics[i]), expected) != 0)
            fail_msg("--topic '%s' lists %s, not %s", topics[i], listed(fixture), expected);
    }
}

static json_t *load_line(const char *line)
{
    json_t *object = json_loadb(line, strcspn(line, "\n"), 0, NULL);

    assert_non_null(object);
    return object;
}

static void assert_field(const json_t *object, const char *name, const char *expected)
{
    const json_t *value = json_object_get(object, name);

    assert_non_null(value);
    if (expected == NULL)
        assert_true(json_is_null(value));
    else
        assert_string_equal(json_string_value(value), expected);
}

FIXTURE_TEST(list_as_json_has_one_object_a_line)
{
    const char *line;
    json_t *object;

    park_four(fixture);
    expect_run(fixture, 0, "dead", "list", "--json");
    assert_int_equal(count_lines(fixture->process.out), 3);
    line = fixture->process.out;
    object = load_line(line);
    assert_field(object, "id", "3");
    assert_field(object, "state", "behind");
    assert_field(object, "due", NULL);
    assert_field(object, "key", NULL);
    json_decref(object);
    line = strchr(strchr(line, '\n') + 1, '\n') + 1;
    object = load_line(line);
    assert_field(object, "id", "1");
    assert_field(object, "event_id", "00000000-0000-0000-0000-0000000000a1");
    assert_field(object, "state", "dead");
    assert_field(object, "due", NULL);
    assert_field(object, "topic", "order.paid");
    assert_field(object, "key", "k1");
    assert_field(object, "type", "Paid");
    assert_field(object, "error", "broken");
    assert_field(object, "parked_at", "2026-01-02T03:05:00+00:00");
    assert_int_equal(json_integer_value(json_object_get(object, "attempts")), 10);
    json_decref(object);
}

FIXTURE_TEST(show_prints_all_of_a_row)
{
    park_four(fixture);
    expect_run(fixture, 0, "dead", "show", "1");
    assert_string_equal(fixture->process.out, "id            1\n"
                                              "event_id      00000000-0000-0000-0000-0000000000a1\n"
                                              "state         dead\n"
                                              "topic         order.paid\n"
                                              "key           k1\n"
                                              "type          Paid\n"
                                              "created_at    2026-01-02 03:04:05+00\n"
                                              "parked_at     2026-01-02T03:05:00Z\n"
                                              "attempts      10\n"
                                              "error         broken\n"
                                              "headers       {\"h\": \"v\"}\n"
                                              "payload       8 bytes\n"
                                              "{\"n\": 1}\n");
    expect_run(fixture, 0, "dead", "show", "00000000-0000-0000-0000-0000000000A2");
    assert_says(fixture->process.out, "state         retry, next try at 2036-05-06T07:08:09Z\n");
    assert_says(fixture->process.out, "key           (null)\n");
    assert_says(fixture->process.out, "payload       (null)\n");
    expect_run(fixture, 0, "dead", "show", "3");
    assert_says(fixture->process.out, "state         behind\n");
    expect_run(fixture, 1, "dead", "show", "4");
    assert_says(fixture->process.err, "no parked or dead row has id \"4\"");
}

FIXTURE_TEST(show_as_json_holds_the_payload_as_it_is)
{
    json_t *object;

    park_four(fixture);
    sql(fixture->conn, "UPDATE outbox_parked SET payload = '{\"n\": 12345678901234567890.10}'");
    expect_run(fixture, 0, "dead", "show", "--json", "1");
    assert_says(fixture->process.out, "\"payload\":{\"n\": 12345678901234567890.10}");
    object = load_line(fixture->process.out);
    assert_field(json_object_get(object, "headers"), "h", "v");
    assert_field(object, "created_at", "2026-01-02T03:04:05+00:00");
    assert_int_equal(json_integer_value(json_object_get(object, "payload_bytes")), 30);
    json_decref(object);
}

/* The parked payload as another type, with this value in the row 1. */
static void park_payload(struct fixture *fixture, const char *type, const char *value)
{
    park_four(fixture);
    sql(fixture->conn, "ALTER TABLE outbox_parked DROP COLUMN payload");
    sql(fixture->conn, "ALTER TABLE outbox_parked ADD COLUMN payload %s", type);
    sql(fixture->conn, "UPDATE outbox_parked SET payload = %s WHERE id = 1", value);
}

FIXTURE_TEST(a_long_payload_is_cut_and_its_size_told_but_whole_as_json)
{
    json_t *object;

    park_payload(fixture, "text", "repeat('\xc3\xbc', 100001)");
    expect_run(fixture, 0, "dead", "show", "1");
    assert_says(fixture->process.out, "payload       200002 bytes, the first 4096 of them");
    assert_true(strlen(fixture->process.out) < 5000);
    assert_true(text_is_utf8(fixture->process.out, strlen(fixture->process.out)));
    expect_run(fixture, 0, "dead", "show", "1", "--json");
    object = load_line(fixture->process.out);
    assert_int_equal(json_string_length(json_object_get(object, "payload")), 200002);
    json_decref(object);
}

FIXTURE_TEST(a_text_payload_is_shown_as_it_is_or_escaped)
{
    park_payload(fixture, "text", "E'line\\n\\tC:\\\\dir\\n'");
    expect_run(fixture, 0, "dead", "show", "1");
    assert_says(fixture->process.out, "payload       13 bytes\nline\n\tC:\\dir\n\n");
    sql(fixture->conn, "UPDATE outbox_parked SET payload = E'\\033]0;title\\007' WHERE id = 1");
    expect_run(fixture, 0, "dead", "show", "1");
    assert_says(fixture->process.out, "payload       10 bytes\n\\x1b]0;title\\x07\n");
}

FIXTURE_TEST(a_payload_in_a_domain_over_bytea_is_emitted_and_shown_by_its_bytes)
{
    sql(fixture->conn, "CREATE DOMAIN blob AS bytea;"
                       " ALTER TABLE outbox ALTER COLUMN payload TYPE blob USING NULL");
    expect_run(fixture, 0, "emit", "t", "k", "a\\b");
    process_free(&fixture->process);
    expect(fixture,
           process_run(&fixture->process, "{\"topic\": \"t\", \"payload\": \"c\\\\d\"}\n", "emit",
                       "-c", fixture->config, NULL),
           0);
    assert_string_equal(sql_text(fixture->conn, "SELECT string_agg(convert_from(payload, 'UTF8'),"
                                                " ' ' ORDER BY id) FROM outbox"),
                        "a\\b c\\d");
    park_payload(fixture, "blob", "'\\x00ff0a61'");
    expect_run(fixture, 0, "dead", "show", "1");
    assert_says(fixture->process.out, "payload       4 bytes\n\\x00\\xff\\na\n");
}

static bool has_control(const char *text)
{
    for (; *text != '\0'; text++)
        if ((*text > 0 && *text < 0x20 && *text != '\n' && *text != '\t') || *text == 0x7F ||
            (*text == '\xc2' && (unsigned char)text[1] < 0xA0) ||
            strncmp(text, "\xe2\x80\xae", 3) == 0) /* U+202E */
            return true;
    return false;
}

FIXTURE_TEST(nothing_that_a_row_holds_commands_a_terminal)
{
    const char *config = fixture->config;
    const char *const commands[][6] = {{"dead", "list", "-c", config},
                                       {"dead", "list", "--json", "-c", config},
                                       {"dead", "show", "1", "-c", config},
                                       {"dead", "retry", "--all", "--dry-run", "-c", config},
                                       {"dead", "drop", "--all", "--json", "-c", config},
                                       {"status", "--json", "-c", config},
                                       {"status", "-c", config}};

    park_four(fixture);
    sql(fixture->conn,
        "UPDATE outbox_parked SET error = h, topic = h, key = h, type = h, headers ="
        " jsonb_build_object('h', h), payload = to_jsonb(h)"
        " FROM (SELECT E'\\033[2J\\r\\u009b31m\\u007f\\u202e\\nfake\\tline') hostile (h)");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const char *const *words = commands[i];

        expect(fixture, run(fixture, words[0], words[1], words[2], words[3], words[4], words[5]),
               0);
        assert_says(fixture->process.out, "fake");
        if (has_control(fixture->process.out))
            fail_msg("%s %s wrote: %s", words[0], words[1], fixture->process.out);
        assert_null(strstr(fixture->process.out, "\nfake"));
    }
}

FIXTURE_TEST(status_shows_the_most_frequent_reasons)
{
    json_t *status;
    json_t *reasons;

    sql(fixture->conn,
        "INSERT INTO outbox_parked (id, event_id, topic, created_at, state, due, error, sent_at)"
        " SELECT i, gen_random_uuid(), 't', now(), CASE WHEN i %% 2 = 0 THEN 'retry' ELSE 'dead'"
        " END, CASE WHEN i %% 2 = 0 THEN now() + interval"
        " '2 hours' - i * interval '1 s' END, CASE WHEN i <= 5000 THEN 'old' ELSE 'reason ' || "
        "floor(sqrt(i - 5001)) END,"
        " NULL FROM generate_series(1, 5064) i");
    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, created_at, state, error,"
                       " sent_at) SELECT i, gen_random_uuid(), 't', now(), 'sent', 'old', now()"
                       " FROM generate_series(6000, 8000) i");
    expect_run(fixture, 0, "status");
    assert_says(fixture->process.out, "parked   2,532, oldest ");
    assert_says(fixture->process.out, "dead     2,532, oldest ");
    assert_says(fixture->process.out,
                ":\n  1,936: old\n  15: reason 7\n  13: reason 6\n  11: reason 5\n"
                "  9: reason 4\n");
    expect_run(fixture, 0, "status", "--json");
    status = load_line(fixture->process.out);
    reasons = json_object_get(status, "parked_reasons");
    assert_int_equal(json_array_size(reasons), 5);
    assert_field(json_array_get(reasons, 1), "reason", "reason 7");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(reasons, 1), "count")), 15);
    json_decref(status);
}

FIXTURE_TEST(a_row_that_can_never_be_sent_shows_in_status_with_its_reason)
{
    expect_run(fixture, 0, "status", "--json");
    assert_says(fixture->process.out, "\"parked_reasons\":[]");
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('')");
    expect(fixture, run_drain(fixture), 1);
    expect_run(fixture, 0, "status");
    assert_says(fixture->process.out, "dead     1, oldest ");
    assert_says(fixture->process.out, sql_text(fixture->conn, "SELECT error FROM outbox_parked"));
}

/* Executes the fixes that check prints until it reports no error. */
static void mend(struct fixture *fixture)
{
    const char *fix = fixture->process.out;

    while ((fix = strstr(fix, "fix: ALTER TABLE")) != NULL) {
        fix += strlen("fix: ");
        sql(fixture->conn, "%.*s", (int)strcspn(fix, "\n"), fix);
    }
    expect_run(fixture, 0, "check");
}

FIXTURE_TEST(what_check_prints_mends_the_parked_table)
{
    park_four(fixture);
    sql(fixture->conn,
        "ALTER TABLE outbox_parked ALTER COLUMN payload TYPE text USING payload::text;"
        "ALTER TABLE outbox_parked DROP COLUMN headers, DROP COLUMN key, DROP COLUMN due,"
        " DROP COLUMN attempts, DROP COLUMN seq, DROP COLUMN error, DROP COLUMN parked_at,"
        " ALTER COLUMN sent_at TYPE timestamp");
    expect_run(fixture, 3, "check");
    assert_says(fixture->process.out, "column headers is missing in \"public\".\"outbox_parked\"");
    assert_says(fixture->process.out, "ADD COLUMN headers pg_catalog.jsonb;");
    mend(fixture);
    assert_string_equal(
        sql_text(fixture->conn, "SELECT payload->>'n' FROM outbox_parked WHERE id = 1"), "1");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('', '5')");
    expect(fixture, run_drain(fixture), 1);
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM outbox_parked"
                  " WHERE topic = '' AND payload = '5'");
}

FIXTURE_TEST(check_converts_bytea_by_its_bytes)
{
    park_four(fixture);
    sql(fixture->conn, "ALTER TABLE outbox_parked ALTER COLUMN payload TYPE bytea"
                       " USING convert_to(payload::text, 'UTF8')");
    expect_run(fixture, 3, "check");
    mend(fixture);
    assert_string_equal(
        sql_text(fixture->conn, "SELECT payload->>'n' FROM outbox_parked WHERE id = 1"), "1");
    sql(fixture->conn, "ALTER TABLE outbox ALTER COLUMN payload TYPE bytea USING NULL");
    expect_run(fixture, 3, "check");
    mend(fixture);
    assert_string_equal(
        sql_text(fixture->conn,
                 "SELECT convert_from(payload, 'UTF8') FROM outbox_parked WHERE id = 1"),
        "{\"n\": 1}");
    sql(fixture->conn, "CREATE DOMAIN blob AS bytea;"
                       " ALTER TABLE outbox ALTER COLUMN payload TYPE blob");
    expect_run(fixture, 0, "check");
}
