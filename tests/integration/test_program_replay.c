/* replay: rows that were sent are sent again, marked, and nothing else changes. */
#include "integration/program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

FIXTURE(set_up, fixture_close)

#define KEYED_CONFIG                                                                               \
    "[database]\nurl = \"%s\"\n[relay]\npoll_interval = \"50ms\"\n" STDOUT_SINK "\n"

static void keep_order(struct fixture *fixture)
{
    sql(fixture->conn, "DROP TABLE outbox, outbox_parked, outbox_control");
    (void)snprintf(fixture->config, sizeof fixture->config, "%s",
                   harness_file("keyed.toml", KEYED_CONFIG, fixture->url));
    expect_run(fixture, 0, "init");
}

static void drain(struct fixture *fixture)
{
    expect(fixture, run_drain(fixture), 0);
}

/* What the last drain printed, in its order. */
static void load_drained(struct fixture *fixture)
{
    sql(fixture->conn, "SET client_min_messages = warning; DROP TABLE IF EXISTS printed");
    load_printed(fixture, fixture->process.out);
    sql(fixture->conn, "DROP TABLE IF EXISTS drained");
    sql(fixture->conn, "CREATE TEMP TABLE drained AS SELECT place, line->>'id' AS id,"
                       " line->>'replayed_at' AS replayed_at, line FROM printed");
}

static void insert_and_send(struct fixture *fixture, int count)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, type, payload, headers) SELECT CASE WHEN i %% 2 = 0 THEN"
        " 'shop.paid' ELSE 'mail' END, 'k' || i %% 5, 'T', to_jsonb(i), '{\"h\": \"1\"}'"
        " FROM generate_series(1, %d) i",
        count);
    drain(fixture);
}

FIXTURE_TEST(a_replayed_row_leaves_once_more_as_it_was_and_marked)
{
    insert_and_send(fixture, 10);
    load_drained(fixture);
    sql(fixture->conn, "CREATE TEMP TABLE before AS SELECT * FROM drained;"
                       " CREATE TEMP TABLE rows AS SELECT o.*, xmin AS version FROM outbox o");
    expect_run(fixture, 0, "replay", "4");
    assert_string_equal(fixture->process.out, "replayed 1\n");
    drain(fixture);
    load_drained(fixture);
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM drained d JOIN before b USING (id) WHERE"
                  " d.replayed_at IS NOT NULL AND b.replayed_at IS NULL"
                  " AND d.line - 'replayed_at' = b.line AND id = (SELECT"
                  " event_id::text FROM outbox WHERE id = 4)");
    assert_number(fixture->conn, 1, "SELECT count(*) FROM drained");
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT *, xmin FROM outbox EXCEPT SELECT *"
                  " FROM rows) changed");
    drain(fixture);
    assert_string_equal(fixture->process.out, "");
}

FIXTURE_TEST(rows_are_chosen_by_topic_and_by_when_they_were_sent)
{
    struct process *process = &fixture->process;

    insert_and_send(fixture, 50);
    sql(fixture->conn, "UPDATE outbox SET sent_at = now() - interval '3 hours' WHERE id <= 20");
    /* more than are looked at in one step, before the first one that is chosen */
    sql(fixture->conn, "INSERT INTO outbox (id, topic, sent_at) OVERRIDING SYSTEM VALUE SELECT -n,"
                       " 'shop.old', now() - interval '3 hours' FROM generate_series(1, 20100) n");
    expect_run(fixture, 0, "replay", "--topic", "shop.*", "--since", "2h", "--dry-run");
    assert_says(process->out, "22  sent 2");
    assert_says(process->out, "  shop.paid\n");
    assert_says(process->out, "would replay 15\n");
    assert_int_equal(count_lines(process->out), 11);
    sql(fixture->conn, "DELETE FROM outbox WHERE id < 0");
    drain(fixture);
    assert_string_equal(process->out, "");
    expect_run(fixture, 0, "replay", "--topic", "shop.*", "--since", "2h");
    assert_string_equal(process->out, "replayed 15\n");
    drain(fixture);
    load_drained(fixture);
    assert_number(fixture->conn, 15,
                  "SELECT count(*) FROM drained JOIN outbox ON event_id::text ="
                  " drained.id WHERE outbox.id > 20 AND topic = 'shop.paid'");
    expect_run(fixture, 0, "replay", "--topic", "mail");
    assert_string_equal(process->out, "replayed 25\n");
    drain(fixture);
    /* Copies that have been sent are no rows to replay. */
    expect_run(fixture, 0, "replay", "--since", "30d");
    assert_string_equal(process->out, "replayed 50\n");
}

FIXTURE_TEST(copies_of_a_key_leave_in_order_and_before_what_is_not_sent_yet)
{
    keep_order(fixture);
    insert_and_send(fixture, 3000);
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) SELECT 'new', 'k' || i %% 5,"
                       " to_jsonb(i) FROM generate_series(1, 100) i");
    expect_run(fixture, 0, "replay", "--since", "1h", "--rate", "100000");
    drain(fixture);
    load_drained(fixture);
    assert_number(fixture->conn, 3100, "SELECT count(*) FROM drained");
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT rows.id < lag(rows.id) OVER"
                  " (PARTITION BY key ORDER BY place) AS late FROM drained JOIN"
                  " (SELECT id, key, event_id FROM outbox UNION SELECT id, key,"
                  " event_id FROM outbox_parked) rows"
                  " ON event_id::text = drained.id) judged WHERE late");
}

/* The relay that settles the first copy cannot see the second one yet. `replay` makes its copy at
 * once, and then asks the relays, which may take longer than the settling. */
FIXTURE_TEST(a_copy_made_while_an_earlier_one_is_settled_follows_at_once)
{
    struct process relay;
    struct process first;

    keep_order(fixture);
    insert_and_send(fixture, 10);
    sql(fixture->conn,
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN PERFORM pg_sleep(2); RETURN NEW; END';"
        "CREATE TRIGGER slow BEFORE UPDATE ON outbox_parked FOR EACH ROW WHEN (NEW.sent_at IS NOT"
        " NULL) EXECUTE FUNCTION slow()");
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    process_start(&first, NULL, "replay", "1", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1,
                    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
                    " AND datname = current_database()");
    expect_run(fixture, 0, "replay", "6");
    wait_for_number(fixture->conn, 2,
                    "SELECT count(*) FROM outbox_parked WHERE sent_at IS NOT NULL");
    process_wait(&first);
    assert_int_equal(first.status, 0);
    process_free(&first);
    process_stop(&relay, SIGTERM);
    process_free(&relay);
}

FIXTURE_TEST(a_replay_adopts_no_rows)
{
    sql(fixture->conn, "COMMENT ON TABLE outbox IS NULL; ALTER TABLE outbox ADD COLUMN status text;"
                       "INSERT INTO outbox (topic, sent_at) VALUES ('t', now()), ('t', NULL)");
    expect_run(fixture, 2, "replay", "1");
    assert_says(fixture->process.err, "applications may write \"sent_at\"");
    say_only_relay_writes(fixture, "outbox.sent_at");
    expect_run(fixture, 3, "replay", "1");
    assert_says(fixture->process.err, "adopt = true");
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked");
}

FIXTURE_TEST(a_row_that_had_been_parked_before_it_was_sent_is_replayed_too)
{
    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, state, due)"
                       " VALUES (7, '00000000-0000-0000-0000-00000000000a', 't', 'retry', now())");
    drain(fixture);
    expect_run(fixture, 0, "replay", "00000000-0000-0000-0000-00000000000A");
    drain(fixture);
    load_drained(fixture);
    assert_number(fixture->conn, 1, "SELECT count(*) FROM drained WHERE replayed_at IS NOT NULL");
}

FIXTURE_TEST(one_id_that_was_not_sent_replays_none)
{
    const struct process *process = &fixture->process;

    insert_and_send(fixture, 3);
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t')");
    expect_run(fixture, 1, "replay", "1", "4");
    assert_says(process->err, "no row that has been sent has the id \"4\": nothing was done");
    expect_run(fixture, 1, "replay", "x'y", "1");
    expect_run(fixture, 2, "replay");
    expect_run(fixture, 2, "replay", "1", "--topic", "t");
    expect_run(fixture, 2, "replay", "1", "--rate", "0");
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked");
}

FIXTURE_TEST(rows_that_were_deleted_cannot_be_replayed)
{
    write_config(fixture, "on_sent = \"delete\"", STDOUT_SINK);
    expect_run(fixture, 2, "replay", "1");
    assert_says(fixture->process.err, "replay needs sent rows");
    assert_says(fixture->process.err, "fix: set [outbox] on_sent = \"mark\"");
}

FIXTURE_TEST(copies_are_made_at_the_rate_that_is_asked_for)
{
    int64_t began_ms;

    insert_and_send(fixture, 250);
    began_ms = harness_now_ms();
    expect_run(fixture, 0, "replay", "--since", "1h", "--rate", "100");
    assert_true(harness_now_ms() - began_ms >= 2000);
    assert_string_equal(fixture->process.out, "replayed 250\n");
}

FIXTURE_TEST(an_interrupt_ends_it_after_the_step_in_hand)
{
    struct process *process = &fixture->process;

    insert_and_send(fixture, 500);
    process_free(process);
    process_start(process, NULL, "replay", "--since", "1h", "--rate", "10", "-c", fixture->config,
                  NULL);
    wait_for_number(fixture->conn, 20,
                    "SELECT count(*) FROM outbox_parked WHERE replayed_at IS NOT NULL");
    process_stop(process, SIGINT);
    expect(fixture, process->status, 1);
    assert_says(process->out, "replayed 20\n");
    assert_says(process->err, "interrupted after 20 of 500 rows, up to id 20");
}

FIXTURE_TEST(a_table_of_others_without_headers_and_with_uuids_is_replayed)
{
    make_their_events(fixture, "aggregatetype, aggregateid, type, payload",
                      "'order', '7', 'Paid', '{\"a\": 1}'");
    sql(fixture->conn, "ALTER TABLE their_events ADD COLUMN sent_at timestamptz");
    say_only_relay_writes(fixture, "their_events.sent_at");
    write_config(fixture,
                 "preset = \"debezium\"\ntable = \"public.their_events\"\nadopt = true\n"
                 "on_sent = \"mark\"\n[outbox.columns]\nsent_at = \"sent_at\"",
                 STDOUT_SINK);
    expect_run(fixture, 5, "init");
    execute_printed(fixture);
    drain(fixture);
    expect_run(fixture, 0, "replay", "--topic", "order");
    assert_string_equal(fixture->process.out, "replayed 1\n");
    drain(fixture);
    load_drained(fixture);
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM drained JOIN their_events t ON t.id::text ="
                  " drained.id WHERE replayed_at IS NOT NULL");
}

/* JetStream drops what bears an id that it has had within its window. */
FIXTURE_TEST(jetstream_stores_a_replayed_row_again)
{
    char command[512];
    char rest[512];
    FILE *reader;
    char line[4096];
    int stored = 0;
    int marked = 0;

    (void)snprintf(rest, sizeof rest,
                   "[sink.bus]\ntype = \"nats\"\nservers = [\"%s\"]\nstream = \"%s\"\n"
                   "allow = [\"%s.>\"]\ncreate = true\n[[route]]\nmatch = \">\"\n"
                   "topic = \"%s.{topic}\"",
                   harness_env("TEST_NATS_URL"), fixture->name, fixture->name, fixture->name);
    write_config(fixture, "", rest);
    sql(fixture->conn, "INSERT INTO outbox (topic, headers) VALUES ('a', '{\"h\": \"1\"}'),"
                       " ('b', NULL)");
    drain(fixture);
    expect_run(fixture, 0, "replay", "1", "2");
    drain(fixture);
    (void)snprintf(command, sizeof command, "build/reader nats %s %s", harness_env("TEST_NATS_URL"),
                   fixture->name);
    reader = popen(command, "r");
    assert_non_null(reader);
    while (fgets(line, sizeof line, reader) != NULL) {
        stored++;
        marked += strstr(line, "replayed_at") != NULL;
    }
    assert_int_equal(pclose(reader), 0);
    assert_int_equal(stored, 4);
    assert_int_equal(marked, 2);
}
