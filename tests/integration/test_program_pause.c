/* pause and resume: what relays publish while a sink, a topic or a key is paused, and afterwards.
 */
#include "integration/program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

FIXTURE(set_up, fixture_close)

/* Where a row that was sent stands: in the outbox, or in the parked table if it was paused. */
#define SENT_ROWS                                                                                  \
    "(SELECT id, topic, key, sent_at, xmin FROM outbox WHERE sent_at IS NOT NULL UNION ALL"        \
    " SELECT id, topic, key, sent_at, xmin FROM outbox_parked WHERE sent_at IS NOT NULL) sent"

/* Configures order = "key". */
static void keep_order(struct fixture *fixture)
{
    (void)snprintf(fixture->config, sizeof fixture->config, "%s",
                   harness_file("keyed.toml",
                                "[database]\nurl = \"%s\"\n[outbox]\nslices = 8\n[relay]\n"
                                "poll_interval = \"50ms\"\nbatch = 20\n[retry]\nbackoff = \"1h\"\n"
                                "backoff_max = \"1h\"\n" STDOUT_SINK "\n",
                                fixture->url));
    expect_run(fixture, 5, "init"); /* other slices, the index */
    sql(fixture->conn, "DROP TABLE outbox, outbox_parked, outbox_control");
    sql(fixture->conn, "DROP TABLE IF EXISTS outbox_slice");
    expect_run(fixture, 0, "init");
}

static void insert(struct fixture *fixture, int count)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload) SELECT CASE WHEN i %% 3 = 0 THEN 'shop.paid'"
        " ELSE 'mail.sent' END, 'k' || i %% 7, to_jsonb(i) FROM generate_series(1, %d) i",
        count);
}

static void command(struct fixture *fixture, int status, const char *verb, const char *what,
                    const char *name)
{
    expect_run(fixture, status, verb, what, name);
}

static long long count_sent(struct fixture *fixture, const char *condition)
{
    return sql_number(fixture->conn, "SELECT count(*) FROM " SENT_ROWS " WHERE %s", condition);
}

/* Between transactions the order is that of their marks; within one it is that of the lines. */
static void assert_in_order(struct fixture *fixture, struct process *relays, int count)
{
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT sent_at < max(sent_at) OVER "
                  "(PARTITION BY key ORDER BY id ROWS BETWEEN UNBOUNDED"
                  " PRECEDING AND 1 PRECEDING) AND xmin <> lag(xmin) OVER (PARTITION"
                  " BY key ORDER BY id) AS late FROM " SENT_ROWS ") rows WHERE late");
    for (int i = 0; i < count; i++) {
        load_printed(fixture, relays[i].out);
        assert_number(fixture->conn, 0,
                      "SELECT count(*) FROM (SELECT id < lag(id) OVER (PARTITION BY"
                      " key ORDER BY place) AS late FROM printed JOIN (SELECT id, key,"
                      " event_id FROM outbox UNION ALL SELECT id, key, event_id FROM"
                      " outbox_parked) rows ON event_id::text = line->>'id') l"
                      " WHERE late");
        sql(fixture->conn, "DROP TABLE printed");
    }
}

static void stop_all(struct process *relays, int count)
{
    for (int i = 0; i < count; i++) {
        process_stop(&relays[i], SIGTERM);
        assert_int_equal(relays[i].status, 0);
    }
}

static void check_over_pause_and_resume(struct fixture *fixture, const char *what, const char *name,
                                        const char *paused, int total)
{
    struct process relays[2];
    long long sent;

    keep_order(fixture);
    for (int i = 0; i < 2; i++)
        process_start(&relays[i], NULL, "run", "-c", fixture->config, NULL);
    insert(fixture, total / 2);
    wait_for_number(fixture->conn, 1, "SELECT EXISTS (SELECT FROM " SENT_ROWS ")::int");
    command(fixture, 0, "pause", what, name);
    sent = count_sent(fixture, paused);
    insert(fixture, total / 2);
    wait_for_number(fixture->conn, 0, UNSENT);
    assert_int_equal(count_sent(fixture, paused), sent);
    assert_true(sent < total);
    /* A relay that starts meanwhile obeys too. */
    process_stop(&relays[1], SIGTERM);
    assert_int_equal(relays[1].status, 0);
    assert_in_order(fixture, &relays[1], 1);
    process_free(&relays[1]);
    process_start(&relays[1], NULL, "run", "-c", fixture->config, NULL);
    insert(fixture, 21);
    wait_for_number(fixture->conn, 0, UNSENT);
    assert_int_equal(count_sent(fixture, paused), sent);
    command(fixture, 0, "resume", what, name);
    wait_for_number(fixture->conn, total + 21, "SELECT count(*) FROM " SENT_ROWS);
    stop_all(relays, 2);
    assert_in_order(fixture, relays, 2);
    for (int i = 0; i < 2; i++)
        process_free(&relays[i]);
}

TEST(keys_keep_their_order_while_a_topic_is_paused_and_resumed)
{
    check_over_pause_and_resume(*state, "topic", "shop.>", "topic LIKE 'shop.%'", 6000);
}

TEST(keys_keep_their_order_while_one_is_paused_and_resumed)
{
    check_over_pause_and_resume(*state, "key", "k3", "key = 'k3'", 6000);
}

FIXTURE_TEST(rows_of_a_paused_sink_stay_in_the_outbox_until_it_is_resumed)
{
    struct process *process = &fixture->process;
    struct process relay;

    keep_order(fixture);
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    insert(fixture, 100);
    wait_for_number(fixture->conn, 0, UNSENT);
    command(fixture, 0, "pause", "sink", "out");
    assert_says(process->out, "sink \"out\" is paused\n");
    insert(fixture, 100);
    process_await_words(&relay, "paused: sink out");
    assert_number(fixture->conn, 100, UNSENT);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked");
    command(fixture, 0, "resume", "sink", "out");
    wait_for_number(fixture->conn, 0, UNSENT);
    process_stop(&relay, SIGTERM);
    assert_int_equal(count_lines(relay.out), 200);
    assert_in_order(fixture, &relay, 1);
    process_free(&relay);
}

/* The batch with which a lane finds its sink paused still settles its dead rows. */
FIXTURE_TEST(a_dead_row_beside_rows_of_a_paused_sink_stops_no_lane)
{
    struct process relay;

    keep_order(fixture);
    sql(fixture->conn, "INSERT INTO outbox (topic, key, headers) SELECT 't', 'k' || i,"
                       " CASE WHEN i %% 4 = 0 THEN '{\"a\": {}}'::jsonb END"
                       " FROM generate_series(1, 8000) i");
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1, "SELECT EXISTS (SELECT FROM " SENT_ROWS ")::int");
    command(fixture, 0, "pause", "sink", "out");
    assert_true(sql_number(fixture->conn, UNSENT) > 0);
    command(fixture, 0, "resume", "sink", "out");
    wait_for_number(fixture->conn, 0, UNSENT);
    process_stop(&relay, SIGTERM);
    assert_int_equal(count_lines(relay.out), 6000);
    process_free(&relay);
}

/* The settle of the batch in hand takes a second. */
FIXTURE_TEST(a_pause_returns_when_what_was_claimed_before_is_settled)
{
    struct process relay;
    int64_t began_ms;

    sql(fixture->conn,
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN PERFORM pg_sleep(1); RETURN NEW; END';"
        "CREATE TRIGGER slow BEFORE UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION slow();"
        "INSERT INTO outbox (topic) VALUES ('t')");
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1,
                    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
                    " AND datname = current_database()");
    began_ms = harness_now_ms();
    command(fixture, 0, "pause", "topic", "t");
    assert_true(harness_now_ms() - began_ms < 5000);
    assert_number(fixture->conn, 0, UNSENT);
    process_stop(&relay, SIGTERM);
    process_free(&relay);
}

FIXTURE_TEST(a_dead_or_waiting_row_may_be_paused_and_leaves_afterwards)
{
    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, state, due)"
                       " VALUES (7, gen_random_uuid(), 't', 'retry', now())");
    command(fixture, 0, "pause", "topic", "t");
    expect(fixture, run_drain(fixture), 1);
    assert_string_equal(fixture->process.out, "");
    command(fixture, 0, "resume", "topic", "t");
    expect_drained(fixture, 0, 1);
}

/* One key of a topic is paused, another is sent meanwhile. */
FIXTURE_TEST(a_pause_is_not_reported_as_a_missing_destination)
{
    command(fixture, 0, "pause", "key", "k");
    sql(fixture->conn, "INSERT INTO outbox (topic, key) VALUES ('t', 'k'), ('t', 'other')");
    expect_drained(fixture, 1, 1);
    assert_null(strstr(fixture->process.err, "the destination"));
}

FIXTURE_TEST(two_pauses_hold_a_row_until_both_are_over)
{
    command(fixture, 0, "pause", "topic", "t");
    command(fixture, 0, "pause", "key", "k");
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key) SELECT 't', 'k' FROM generate_series(1, 9)");
    expect(fixture, run_drain(fixture), 1);
    command(fixture, 0, "resume", "topic", "t");
    expect(fixture, run_drain(fixture), 1);
    assert_string_equal(fixture->process.out, "");
    command(fixture, 0, "resume", "key", "k");
    expect_drained(fixture, 0, 9);
}

FIXTURE_TEST(pause_lists_what_is_paused_since_when_by_whom_and_why)
{
    struct process *process = &fixture->process;

    expect_run(fixture, 0, "pause");
    assert_string_equal(process->out, "nothing is paused\n");
    expect_run(fixture, 0, "pause", "topic", "a.>", "--reason", "ticket 7");
    command(fixture, 0, "pause", "key", "k \"1\"");
    command(fixture, 0, "pause", "topic", "a.>");
    assert_says(process->out, "topic \"a.>\" is paused already\n");
    expect_run(fixture, 0, "pause");
    assert_says(process->out, "topic \"a.>\" since 2");
    assert_says(process->out, " by " HARNESS_RELAY ": ticket 7\n");
    assert_says(process->out, "key \"k \"1\"\" since 2");
    assert_int_equal(count_lines(process->out), 2);
    expect_run(fixture, 0, "pause", "--json");
    assert_says(process->out, "{\"what\":\"key\",\"name\":\"k \\\"1\\\"\",\"since\":\"");
    expect_run(fixture, 0, "status");
    expect_run(fixture, 0, "dead", "list");
    assert_string_equal(process->out, "");
    expect(fixture, run_drain(fixture), 0);
}

FIXTURE_TEST(what_cannot_be_paused_is_refused_with_the_way_out)
{
    const struct process *process = &fixture->process;

    command(fixture, 2, "pause", "sink", "oout");
    assert_says(process->err, "no sink of this name is configured; the configured ones are: out");
    command(fixture, 2, "pause", "topic", "a.>.b");
    command(fixture, 2, "pause", "topics", "a");
    assert_says(process->err, "usage: outbox-relay pause [sink NAME | topic PATTERN | key KEY]");
    command(fixture, 2, "pause", "key", "a\nb");
    assert_says(process->err, "control character");
    command(fixture, 1, "resume", "topic", "a");
    assert_says(process->err, "topic \"a\" is not paused");
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_control WHERE kind <> 'setting'");
}

/* It could be taken for the note that they are meant for the relay. */
FIXTURE_TEST(a_pause_adopts_no_rows)
{
    sql(fixture->conn, "COMMENT ON TABLE outbox IS NULL; INSERT INTO outbox (topic) VALUES ('t')");
    command(fixture, 0, "pause", "topic", "x");
    expect(fixture, run_drain(fixture), 3);
    assert_says(fixture->process.err, "adopt = true");
    assert_number(fixture->conn, 1, UNSENT);
}
