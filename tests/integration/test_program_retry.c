/* `dead retry` and `dead drop`: which rows they choose, what becomes of them, and what they leave
 * alone. */
#include "integration/program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

FIXTURE(set_up, fixture_close)

/* Dead, due in an hour, behind, sent, dead; all but the topic alike. */
static void park_five(struct fixture *fixture)
{
    sql(fixture->conn,
        "INSERT INTO outbox_parked (id, event_id, topic, type, created_at, state, attempts, due,"
        " error, parked_at, sent_at) SELECT i, ('00000000-0000-0000-0000-0000000000a' || i)::uuid,"
        " CASE i WHEN 5 THEN 'order.b' ELSE 'order.a' END, 'T' || i %% 2, now(),"
        " (ARRAY['dead', 'retry', 'behind', 'sent', 'dead'])[i], 9,"
        " CASE i WHEN 2 THEN now() + interval '1 hour' END,"
        " 'broken', now() - i * interval '1 hour', CASE i WHEN 4 THEN now() END"
        " FROM generate_series(1, 5) i");
}

/* The rows that a retry touched: due now, no attempt counted. */
#define RETRIED "due <= clock_timestamp() AND attempts = 0"

static const char *ids_where(struct fixture *fixture, const char *condition)
{
    return sql_text(fixture->conn,
                    "SELECT coalesce(string_agg(id::text, ',' ORDER BY id), '')"
                    " FROM outbox_parked WHERE %s",
                    condition);
}

#define DEAD(fixture, status, ...)                                                                 \
    expect(fixture, run(fixture, "dead", "-c", (fixture)->config, __VA_ARGS__), status)

/* The content of the parked table, to prove that nothing has changed. */
static const char *digest(struct fixture *fixture)
{
    return sql_text(fixture->conn, "SELECT md5(string_agg(p::text, '' ORDER BY seq))"
                                   " FROM outbox_parked p");
}

static void assert_unchanged(struct fixture *fixture, const char *before)
{
    assert_string_equal(digest(fixture), before);
}

FIXTURE_TEST(retry_by_id_makes_a_dead_and_a_waiting_row_due_at_once)
{
    park_five(fixture);
    DEAD(fixture, 0, "retry", "1", "2", "00000000-0000-0000-0000-0000000000A3");
    assert_string_equal(fixture->process.out, "3 rows will be tried again\n");
    assert_string_equal(ids_where(fixture, RETRIED), "1,2,3");
    assert_string_equal(ids_where(fixture, "event_id::text NOT LIKE '%a' || id"), "");
    assert_string_equal(ids_where(fixture, "state IN ('dead', 'sent') AND attempts = 9"), "4,5");
}

FIXTURE_TEST(drop_by_id_deletes_a_dead_and_a_waiting_row)
{
    park_five(fixture);
    DEAD(fixture, 0, "drop", "1", "00000000-0000-0000-0000-0000000000a3");
    assert_string_equal(fixture->process.out, "dropped 2\n");
    assert_string_equal(ids_where(fixture, "true"), "2,4,5");
}

FIXTURE_TEST(when_one_id_is_missing_nothing_is_done)
{
    char before[64];

    park_five(fixture);
    (void)snprintf(before, sizeof before, "%s", digest(fixture));
    DEAD(fixture, 1, "retry", "1", "77", "2", "4");
    assert_says(fixture->process.err,
                "no parked or dead row has id \"4\" or \"77\": nothing was done");
    assert_string_equal(fixture->process.out, "");
    DEAD(fixture, 1, "drop", "1", "77");
    DEAD(fixture, 1, "drop", "1", "77", "--dry-run");
    DEAD(fixture, 1, "drop", "1", "77", "--json");
    assert_string_equal(fixture->process.out, "");
    DEAD(fixture, 1, "retry", "11", "12", "13", "14", "15", "16", "17", "1");
    assert_says(fixture->process.err, "\"15\" or 2 more: nothing was done");
    assert_unchanged(fixture, before);
}

FIXTURE_TEST(a_hostile_id_is_just_not_found)
{
    static const char *const ids[] = {"' OR '1'='1",
                                      "1; DROP TABLE outbox_parked",
                                      "\"",
                                      "\\",
                                      "{1}",
                                      "NULL",
                                      "",
                                      "99999999999999999999999999999999999999",
                                      "1e0",
                                      "01",
                                      " 1",
                                      "%",
                                      "{00000000-0000-0000-0000-0000000000a1}",
                                      "\033[2J",
                                      "$1"};
    char before[64];

    park_five(fixture);
    (void)snprintf(before, sizeof before, "%s", digest(fixture));
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        DEAD(fixture, 1, "drop", ids[i]);
        assert_says(fixture->process.err, "no parked or dead row has id");
        assert_null(strchr(fixture->process.err, '\033'));
        DEAD(fixture, 1, "retry", ids[i]);
        DEAD(fixture, 1, "show", ids[i]);
    }
    DEAD(fixture, 2, "drop", "\xff");
    DEAD(fixture, 2, "drop", "--topic", "\xc3(");
    assert_unchanged(fixture, before);
}

FIXTURE_TEST(a_negative_id_stands_behind_two_dashes)
{
    park_five(fixture);
    sql(fixture->conn, "UPDATE outbox_parked SET id = -5 WHERE id = 5");
    DEAD(fixture, 2, "drop", "-5");
    DEAD(fixture, 0, "drop", "--", "-5");
    assert_string_equal(ids_where(fixture, "true"), "1,2,3,4");
}

FIXTURE_TEST(all_and_filters_choose_dead_rows_only)
{
    park_five(fixture);
    DEAD(fixture, 0, "retry", "--topic", "order.a");
    assert_string_equal(fixture->process.out, "1 row will be tried again\n");
    assert_string_equal(ids_where(fixture, RETRIED), "1");
    DEAD(fixture, 0, "retry", "--type", "T1", "--since", "4h", "--all");
    assert_string_equal(fixture->process.out, "0 rows will be tried again\n");
    DEAD(fixture, 0, "retry", "--type", "T1", "--since", "6h", "--topic", "order.>");
    assert_string_equal(fixture->process.out, "1 row will be tried again\n");
    assert_string_equal(ids_where(fixture, RETRIED), "1,5");
    sql(fixture->conn, "UPDATE outbox_parked SET state = 'dead', due = NULL WHERE id IN (1, 5)");
    DEAD(fixture, 0, "drop", "--since", "90m");
    assert_string_equal(fixture->process.out, "dropped 1\n");
    DEAD(fixture, 0, "drop", "--all");
    assert_string_equal(fixture->process.out, "dropped 1\n");
    assert_string_equal(ids_where(fixture, "true"), "2,3,4");
}

/* A row that waits for a broker is sent once that has mended: it is named by its id. */
FIXTURE_TEST(a_topic_chooses_rows_that_wait_for_a_configuration_too)
{
    park_five(fixture);
    sql(fixture->conn,
        "INSERT INTO outbox_parked (id, topic, key, type, state, due, waits_for)"
        " VALUES (6, 'nope.a', 'k', 'T1', 'waiting', now(), 'a configuration that routes nope.a'),"
        " (7, 'nope.a', 'k', 'T1', 'waiting', NULL, 'a configuration that routes nope.a'),"
        " (8, 'nope.a', 'l', 'T1', 'waiting', NULL, 'a configuration that permits out/nope.a'),"
        " (9, 'nope.a', 'm', 'T1', 'waiting', now(), 'out/nope.a'),"
        " (10, 'nope.a', 'n', 'T1', 'paused', now(), 'the end of the pause of topic nope.a'),"
        " (11, 'nope.a', 'm', 'T1', 'behind', NULL, NULL)");
    DEAD(fixture, 0, "retry", "--type", "T1", "--all");
    DEAD(fixture, 0, "drop", "--type", "T1", "--since", "10m");
    assert_string_equal(fixture->process.out, "dropped 0\n");
    DEAD(fixture, 0, "retry", "--topic", "nope.a", "--dry-run");
    assert_says(fixture->process.out, "would retry 3\n");
    DEAD(fixture, 0, "retry", "--topic", "nope.*");
    assert_string_equal(fixture->process.out, "3 rows will be tried again\n");
    assert_string_equal(ids_where(fixture, "id > 5 AND state = 'retry' AND " RETRIED), "6,7,8");
    sql(fixture->conn, "UPDATE outbox_parked SET state = 'waiting', due = NULL, waits_for ="
                       " 'a configuration that routes nope.a' WHERE id IN (6, 8)");
    DEAD(fixture, 0, "drop", "--topic", "nope.a");
    assert_string_equal(fixture->process.out, "dropped 2\n");
    assert_string_equal(ids_where(fixture, "id > 5"), "7,9,10,11");
}

FIXTURE_TEST(a_dry_run_shows_the_rows_and_changes_nothing)
{
    char before[64];

    park_five(fixture);
    (void)snprintf(before, sizeof before, "%s", digest(fixture));
    DEAD(fixture, 0, "drop", "--all", "--dry-run");
    assert_int_equal(count_lines(fixture->process.out), 1 + 3);
    assert_says(fixture->process.out, "00000000-0000-0000-0000-0000000000a1");
    assert_says(fixture->process.out, "00000000-0000-0000-0000-0000000000a5");
    assert_says(fixture->process.out, "\nwould drop 2\n");
    DEAD(fixture, 0, "retry", "2", "--dry-run");
    assert_says(fixture->process.out, "\nwould retry 1\n");
    DEAD(fixture, 0, "retry", "--topic", "order.*", "--dry-run", "--json");
    assert_int_equal(count_lines(fixture->process.out), 2);
    assert_says(fixture->process.out, "{\"result\":\"would retry\",\"id\":\"1\",\"event_id\":"
                                      "\"00000000-0000-0000-0000-0000000000a1\",\"topic\":"
                                      "\"order.a\",\"key\":null,\"type\":\"T1\",\"error\":"
                                      "\"broken\"}\n");
    assert_unchanged(fixture, before);
}

FIXTURE_TEST(the_result_as_json_names_each_row)
{
    park_five(fixture);
    DEAD(fixture, 0, "retry", "1", "--json");
    assert_int_equal(count_lines(fixture->process.out), 1);
    assert_says(fixture->process.out, "{\"result\":\"retried\",\"id\":\"1\",");
    DEAD(fixture, 0, "drop", "--all", "--json");
    assert_int_equal(count_lines(fixture->process.out), 1);
    assert_says(fixture->process.out, "{\"result\":\"dropped\",\"id\":\"5\",");
    DEAD(fixture, 0, "drop", "--all", "--json");
    assert_string_equal(fixture->process.out, "");
}

static void park_ten_thousand(struct fixture *fixture)
{
    sql(fixture->conn,
        "INSERT INTO outbox_parked (id, event_id, topic, payload, created_at, state, attempts, error)"
        " SELECT i, gen_random_uuid(), 'many.' || i %% 4, to_jsonb(i), now(), 'dead', 10, 'broken'"
        " FROM generate_series(1, 10000) i");
}

FIXTURE_TEST(ten_thousand_dead_rows_are_retried_at_once)
{
    park_ten_thousand(fixture);
    DEAD(fixture, 0, "retry", "--all", "--dry-run", "--json");
    assert_int_equal(count_lines(fixture->process.out), 10000);
    DEAD(fixture, 0, "list");
    assert_int_equal(count_lines(fixture->process.out), 1 + 10000);
    DEAD(fixture, 0, "retry", "--all");
    assert_string_equal(fixture->process.out, "10000 rows will be tried again\n");
    assert_number(fixture->conn, 10000, "SELECT count(*) FROM outbox_parked WHERE " RETRIED);
    expect_drained(fixture, 0, 10000);
}

FIXTURE_TEST(as_many_ids_as_xargs_hands_over_are_looked_up_at_once)
{
    char command[1024];
    char line[64];
    FILE *pipe;

    park_ten_thousand(fixture);
    (void)snprintf(command, sizeof command, "seq 1 10000 | xargs %s dead drop -c %s",
                   harness_env("RELAY"), fixture->config);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof line, pipe));
    assert_int_equal(pclose(pipe), 0);
    assert_string_equal(line, "dropped 10000\n");
}

/* The outbox has nothing for the sink that is away, so that is no reason to wait. */
FIXTURE_TEST(a_drain_sends_a_parked_row_of_one_sink_while_another_is_away)
{
    sql(fixture->conn, "DROP TABLE outbox, outbox_parked, outbox_control");
    write_relay_toml(fixture, "[relay]\npoll_interval = \"50ms\"\n[sink.out]\ntype = \"stdout\"\n"
                              "[sink.gone]\ntype = \"nats\"\nservers = [\"nats://127.0.0.1:1\"]\n"
                              "stream = \"S\"\n[[route]]\nmatch = \"gone\"\nsink = \"gone\"\n"
                              "[[route]]\nmatch = \">\"\nsink = \"out\"\n");
    expect_run(fixture, 0, "init");
    sql(fixture->conn,
        "INSERT INTO outbox_parked (id, event_id, topic, key, payload, created_at, state, due)"
        " VALUES (1, gen_random_uuid(), 'here', 'k', '1', now(), 'retry', now())");
    expect_drained(fixture, 0, 1);
}

FIXTURE_TEST(a_scheduled_row_that_is_retried_behind_another_keeps_its_time)
{
    sql(fixture->conn,
        "INSERT INTO outbox_parked (id, event_id, topic, key, created_at, state, due)"
        " VALUES (1, gen_random_uuid(), 't', 'k', now(), 'dead', NULL),"
        " (2, gen_random_uuid(), 't', 'k', now(), 'scheduled', now() + '1 hour')");
    DEAD(fixture, 0, "retry", "2");
    assert_string_equal(ids_where(fixture, "state = 'scheduled'"), "2");
}

static void await_relay(struct fixture *fixture)
{
    wait_for_number(fixture->conn, 2,
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE"
                    " 'outbox-relay/%/_' AND datname = current_database()");
}

FIXTURE_TEST(a_running_relay_delivers_a_retried_row_with_its_event_id)
{
    struct process relay;
    char event_id[64];
    char expected[128];

    write_config(fixture, "",
                 STDOUT_SINK "\n[[route]]\nmatch = \"bad\"\nsink = \"out\"\ntopic = \"{type}\"");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('bad', '42')");
    (void)snprintf(event_id, sizeof event_id, "%s",
                   sql_text(fixture->conn, "SELECT event_id FROM outbox"));
    expect(fixture, run_drain(fixture), 1);
    write_config(fixture, "", STDOUT_SINK);
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    await_relay(fixture);
    assert_string_equal(ids_where(fixture, "state = 'dead'"), "1");
    DEAD(fixture, 0, "retry", event_id);
    wait_for_number(fixture->conn, 1,
                    "SELECT count(*) FROM outbox_parked WHERE sent_at IS NOT NULL");
    process_stop(&relay, SIGTERM);
    assert_int_equal(count_lines(relay.out), 1);
    (void)snprintf(expected, sizeof expected, "{\"topic\":\"bad\",\"id\":\"%s\"", event_id);
    assert_says(relay.out, expected);
    assert_says(relay.out, "\"payload\":42");
    process_free(&relay);
    DEAD(fixture, 0, "list");
    assert_string_equal(fixture->process.out, "");
    DEAD(fixture, 1, "retry", event_id);
}

FIXTURE_TEST(rows_that_a_relay_holds_are_not_waited_for_without_end)
{
    PGconn *relay = harness_connect(fixture->url);
    char before[64];

    park_five(fixture);
    (void)snprintf(before, sizeof before, "%s", digest(fixture));
    sql(relay, "BEGIN");
    sql(relay, "SELECT FROM outbox_parked WHERE id = 2 FOR UPDATE");
    DEAD(fixture, 3, "retry", "1", "2");
    assert_says(fixture->process.err, "has locked these rows or the table");
    assert_says(fixture->process.err, "a relay that is sending them; try again");
    DEAD(fixture, 3, "drop", "2");
    DEAD(fixture, 0, "retry", "2", "--dry-run");
    DEAD(fixture, 0, "show", "2");
    assert_unchanged(fixture, before);
    sql(relay, "ROLLBACK");
    DEAD(fixture, 0, "retry", "1", "2");
    PQfinish(relay);
}

/* Somebody changes a row while the command waits for its lock. */
static void change_meanwhile(struct fixture *fixture, const char *change, int status,
                             const char *verb, const char *first, const char *second)
{
    PGconn *other = harness_connect(fixture->url);

    park_five(fixture);
    sql(other, "BEGIN; UPDATE outbox_parked SET %s", change);
    process_free(&fixture->process);
    process_start(&fixture->process, NULL, "dead", "-c", fixture->config, verb, first, second,
                  NULL);
    wait_for_number(fixture->conn, 1,
                    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                    " AND datname = current_database()");
    sql(other, "COMMIT");
    process_wait(&fixture->process);
    expect(fixture, fixture->process.status, status);
    PQfinish(other);
}

FIXTURE_TEST(a_row_that_leaves_while_its_id_waits_for_the_lock_is_missing)
{
    change_meanwhile(fixture, "state = 'sent', sent_at = now(), due = NULL WHERE id = 2", 1, "drop",
                     "1", "2");
    assert_says(fixture->process.err, "no parked or dead row has id \"2\": nothing was done");
    assert_string_equal(ids_where(fixture, "true"), "1,2,3,4,5");
}

FIXTURE_TEST(a_row_that_dies_while_its_id_waits_for_the_lock_is_retried)
{
    change_meanwhile(fixture, "state = 'dead', due = NULL, attempts = 10 WHERE id = 2", 0, "retry",
                     "1", "2");
    assert_string_equal(ids_where(fixture, RETRIED), "1,2");
}

FIXTURE_TEST(a_row_that_is_retried_while_a_filter_waits_for_the_lock_is_not_dropped)
{
    change_meanwhile(fixture, "state = 'retry', due = now(), attempts = 0 WHERE id = 5", 0, "drop",
                     "--all", NULL);
    assert_string_equal(fixture->process.out, "dropped 1\n");
    assert_string_equal(ids_where(fixture, "true"), "2,3,4,5");
}

FIXTURE_TEST(mistakes_are_refused_before_anything_is_touched)
{
    static const char *const mistakes[][5] = {
        {"retry"},
        {"drop"},
        {"retry", "--dry-run"},
        {"drop", "--json"},
        {"retry", "1", "--all"},
        {"drop", "1", "--all"},
        {"retry", "1", "--type", "T1"},
        {"drop", "1", "--topic", "order.a"},
        {"drop", "1", "--since", "1h"},
        {"drop", "--since", "yesterday"},
        {"list", "1"},
        {"list", "--dry-run"},
        {"show"},
        {"show", "1", "2"},
        {"show", "1", "--all"},
        {"show", "1", "--topic", "order.a"},
        {"show", "1", "--dry-run"},
        {"revive", "1"},
        {"list", "--dead"},
        {"retry", "--older-than", "7d"},
    };
    char before[64];

    park_five(fixture);
    (void)snprintf(before, sizeof before, "%s", digest(fixture));
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const char *const *words = mistakes[i];

        DEAD(fixture, 2, words[0], words[1], words[2], words[3]);
        assert_string_equal(fixture->process.out, "");
        assert_says(fixture->process.err, "dead");
    }
    expect_run(fixture, 2, "dead");
    assert_says(fixture->process.err, "usage: outbox-relay dead list | show ID | retry|drop");
    assert_unchanged(fixture, before);
}

FIXTURE_TEST(a_table_of_somebody_else_is_served_by_its_own_ids)
{
    make_their_events(fixture, "id, aggregatetype, aggregateid, type",
                      "'00000000-0000-0000-0000-0000000000ab', 'bad', 'k', 'T'");
    write_config(fixture,
                 "table = \"public.their_events\"\npreset = \"debezium\"\non_sent = \"delete\"\n"
                 "adopt = true",
                 STDOUT_SINK "\n[[route]]\nmatch = \"good\"\nsink = \"out\"");
    expect_run(fixture, 0, "init");
    expect(fixture, run_drain(fixture), 1);
    expect_run(fixture, 4, "check");
    assert_says(fixture->process.out, "a row waits with topic \"bad\": no [[route]] matches");
    DEAD(fixture, 0, "show", "00000000-0000-0000-0000-0000000000AB");
    assert_says(fixture->process.out, "created_at    (null)\n");
    DEAD(fixture, 0, "show", "00000000-0000-0000-0000-0000000000AB", "--json");
    DEAD(fixture, 0, "retry", "00000000-0000-0000-0000-0000000000AB");
    assert_string_equal(fixture->process.out, "1 row will be tried again\n");
    DEAD(fixture, 0, "drop", "00000000-0000-0000-0000-0000000000ab");
}

FIXTURE_TEST(without_the_tables_or_the_server_the_status_is_3)
{
    sql(fixture->conn, "DROP TABLE outbox_parked, outbox_control");
    DEAD(fixture, 3, "retry", "--all");
    assert_says(fixture->process.err, "fix: outbox-relay init");
    (void)snprintf(fixture->url, sizeof fixture->url, "postgresql://postgres@127.0.0.1:1/x");
    write_config(fixture, "", STDOUT_SINK);
    DEAD(fixture, 3, "list");
}
