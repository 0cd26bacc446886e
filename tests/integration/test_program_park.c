/*
 * With [outbox] park a row that cannot be sent stays in the application's table: it says there why,
 * its owner mends it there, and it is marked there when its event has left after all.
 */
#include "integration/program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

FIXTURE(fixture_open_empty, fixture_close)

#define TABLE                                                                                      \
    "CREATE TABLE outbox (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, event_id uuid NOT"   \
    " NULL DEFAULT gen_random_uuid(), topic text, key text, payload jsonb, details text, status"   \
    " text NOT NULL DEFAULT 'NEW', last_error text, attempts int, quoted text)"

#define PARK                                                                                       \
    "park = \"status = upper($state), last_error = $error, attempts = $attempts, quoted ="         \
    " '$error'\"\n"

/* Of the four pairs of an order and a mode, a test takes two in which both differ. */
static const char *const orders[] = {"key", "none"};
static const char *const modes[] = {"mark", "delete"};

static void open_with(struct fixture *fixture, const char *order, const char *mode,
                      const char *more)
{
    sql(fixture->conn, "SET client_min_messages = warning; DROP TABLE IF EXISTS outbox,"
                       " outbox_parked, outbox_slice, outbox_control, printed");
    sql(fixture->conn, TABLE);
    write_relay_toml(fixture,
                     "[outbox]\nadopt = true\norder = \"%s\"\non_sent = \"%s\"\nwhere ="
                     " \"status = 'NEW'\"\n%s" PARK "%s[sink.out]\ntype = \"stdout\"\n"
                     "[[route]]\nmatch = \"good\"\nsink = \"out\"\n",
                     order, mode,
                     mode[0] == 'm' ? "mark = \"status = 'SENT', last_error = NULL\"\n" : "", more);
    init_existing(fixture);
}

/* Row 3 has an empty topic, and rows 6, 9 and 12 have its key. */
static void insert_and_drain(struct fixture *fixture)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload) SELECT CASE n WHEN 3 THEN ''"
        " ELSE 'good' END, 'k' || n %% 3, to_jsonb(n) FROM generate_series(1, 12) n");
    drain_printed(fixture, 1);
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM outbox WHERE id = 3 AND status = 'DEAD' AND"
                  " last_error LIKE 'the topic is%%' AND attempts = 1 AND quoted ="
                  " '$error'");
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox WHERE status = 'NEW'");
}

/* Those of the key of row 3 in their order, where rows have one. */
static void assert_all_left(struct fixture *fixture, const char *order, const char *mode)
{
    assert_number(fixture->conn, mode[0] == 'm' ? 12 : 0,
                  "SELECT count(*) FROM outbox WHERE status = 'SENT'"
                  " AND last_error IS NULL");
    assert_number(fixture->conn, mode[0] == 'm' ? 12 : 0, "SELECT count(*) FROM outbox");
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked");
    assert_string_equal(sql_text(fixture->conn, "SELECT string_agg(line->>'payload', ',' ORDER BY"
                                                " (line->>'payload')::int) FROM printed"),
                        "1,2,3,4,5,6,7,8,9,10,11,12");
    if (strcmp(order, "key") == 0)
        assert_string_equal(sql_text(fixture->conn,
                                     "SELECT string_agg(line->>'payload', ',' ORDER BY place)"
                                     " FROM printed WHERE line->>'key' = 'k0'"),
                            "3,6,9,12");
}

FIXTURE_TEST(a_dead_row_is_mended_and_retried_where_it_is)
{
    for (int i = 0; i < 4; i += 3) {
        const char *mode = modes[i / 2];

        open_with(fixture, orders[i % 2], mode, "");
        insert_and_drain(fixture);
        assert_says(fixture->process.err, "correct the row in public.outbox: its topic");
        assert_number(fixture->conn, i % 2 == 0 ? 3 : 0,
                      "SELECT count(*) FROM outbox WHERE status = 'BEHIND'");
        expect_run(fixture, 0, "dead", "show", "3");
        assert_says(fixture->process.out, "\nfix           correct the row in public.outbox: its");
        sql(fixture->conn, "UPDATE outbox SET topic = 'nowhere' WHERE id = 3");
        expect_run(fixture, 0, "dead", "retry", "3");
        drain_printed(fixture, 1);
        assert_says(fixture->process.err, "correct the row in public.outbox: its topic");
        expect_run(fixture, 0, "status");
        assert_says(fixture->process.out, "correct the row in public.outbox: its topic");
        sql(fixture->conn, "UPDATE outbox SET topic = 'good' WHERE id = 3");
        expect_run(fixture, 0, "dead", "retry", "3");
        drain_printed(fixture, 0);
        assert_all_left(fixture, orders[i % 2], mode);
    }
}

/* As its dashboard, or a person, retries it. */
FIXTURE_TEST(a_row_that_its_owner_brings_back_within_where_is_sent_once_and_in_order)
{
    for (int i = 1; i < 3; i++) {
        open_with(fixture, orders[i % 2], modes[i / 2], "");
        insert_and_drain(fixture);
        sql(fixture->conn, "UPDATE outbox SET topic = 'good', status = 'NEW' WHERE id = 3");
        drain_printed(fixture, 0);
        assert_all_left(fixture, orders[i % 2], modes[i / 2]);
    }
}

/* One that cannot be sent has no key. */
FIXTURE_TEST(a_row_that_is_brought_back_as_it_was_is_parked_again)
{
    for (int i = 0; i < 4; i += 3) {
        open_with(fixture, orders[i % 2], modes[i / 2], "");
        insert_and_drain(fixture);
        sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('', '13')");
        drain_printed(fixture, 1);
        for (int j = 0; j < 2; j++) {
            sql(fixture->conn, "UPDATE outbox SET status = 'NEW' WHERE status <> 'SENT'");
            drain_printed(fixture, 1);
            assert_number(fixture->conn, 2,
                          "SELECT count(*) FROM outbox_parked WHERE"
                          " state = 'dead' AND id IN (3, 13)");
            assert_number(fixture->conn, i % 2 == 0 ? 5 : 2, "SELECT count(*) FROM outbox_parked");
            assert_number(fixture->conn, 2, "SELECT count(*) FROM outbox WHERE status = 'DEAD'");
        }
        sql(fixture->conn, "DELETE FROM outbox WHERE id = 13; DELETE FROM outbox_parked WHERE id ="
                           " 13; UPDATE outbox SET topic = 'good', status = 'NEW' WHERE id = 3");
        drain_printed(fixture, 0);
        assert_all_left(fixture, orders[i % 2], modes[i / 2]);
    }
}

/* Dead rows that could be sent now, and a relay with several lanes. */
static void open_mended(struct fixture *fixture, const char *order, const char *mode, int rows)
{
    open_with(fixture, order, mode, "[relay]\nlanes = 4\npoll_interval = \"50ms\"\n");
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload) SELECT '', 'k' || n %% 50, to_jsonb(n) FROM"
        " generate_series(1, %d) n",
        rows);
    drain_printed(fixture, 1);
    sql(fixture->conn, "UPDATE outbox SET topic = 'good'");
}

static void assert_each_left_once(struct fixture *fixture, struct process *relay, const char *order,
                                  int rows)
{
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox WHERE status <> 'SENT'");
    process_stop(relay, SIGTERM);
    load_printed(fixture, relay->out);
    process_free(relay);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked");
    assert_number(fixture->conn, rows, "SELECT count(DISTINCT line->>'payload') FROM printed");
    assert_number(fixture->conn, rows, "SELECT count(*) FROM printed");
    if (strcmp(order, "key") == 0)
        assert_keys_printed_in_order(fixture);
}

/* As a dashboard does whose "retry all" somebody keeps pressing, while `dead retry` runs as well.
 */
FIXTURE_TEST(a_row_that_is_brought_back_while_its_copy_is_sent_leaves_once)
{
    struct process relay;

    for (int i = 1; i < 3; i++) {
        open_mended(fixture, orders[i % 2], modes[i / 2], 1000);
        process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
        for (int j = 0;
             sql_number(fixture->conn, "SELECT count(*) FROM outbox WHERE status <> 'SENT'") > 0;
             j++) {
            sql(fixture->conn,
                "UPDATE outbox SET status = 'NEW' WHERE status NOT IN ('NEW', 'SENT');"
                " SELECT pg_sleep(0.15)");
            if (j % 5 == 0)
                (void)run(fixture, "dead", "retry", "--all", "-c", fixture->config);
        }
        assert_each_left_once(fixture, &relay, orders[i % 2], 1000);
    }
}

/* Whoever has locked a row, or its copy, keeps it from leaving, and not from being settled. */
FIXTURE_TEST(a_row_or_a_copy_that_somebody_has_locked_waits_and_holds_up_no_other)
{
    static const char *const locks[] = {"SELECT FROM outbox WHERE id IN (5, 17, 33) FOR UPDATE",
                                        "SELECT FROM outbox_parked WHERE id IN (5, 17, 33) FOR"
                                        " UPDATE"};
    struct process relay;

    /* With order = "none" another lane may take rows that PostgreSQL refuses to settle. */
    for (int i = 0; i < 3; i++) {
        PGconn *owner;

        open_mended(fixture, orders[i % 2], modes[i % 2], 50);
        owner = harness_connect(fixture->url);
        if (i < 2)
            expect_run(fixture, 0, "dead", "retry", "--all");
        else
            sql(fixture->conn, "UPDATE outbox SET status = 'NEW'");
        sql(owner, "BEGIN; %s", locks[i / 2]);
        process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
        if (i < 2) {
            wait_for_number(fixture->conn, 3, "SELECT count(*) FROM outbox WHERE status <> 'SENT'");
            wait_for_number(fixture->conn, 3,
                            "SELECT count(*) FROM outbox_parked WHERE error = 'its row is locked by"
                            " another session'");
        } else {
            wait_for_number(fixture->conn, 3,
                            "SELECT least(3, count(*)) FROM outbox_parked WHERE state IN"
                            " ('unsettled', 'refused')");
        }
        sql(owner, "COMMIT");
        PQfinish(owner);
        assert_each_left_once(fixture, &relay, orders[i % 2], 50);
    }
}

/* Ids begin anew. */
FIXTURE_TEST(a_copy_changes_no_row_of_another_event)
{
    open_with(fixture, "none", "mark", "");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('', '\"old\"'), ('',"
                       " '\"older\"')");
    drain_printed(fixture, 1);
    sql(fixture->conn,
        "TRUNCATE outbox RESTART IDENTITY; INSERT INTO outbox (topic, payload,"
        " status) VALUES ('good', '\"draft\"', 'DRAFT'), ('good', '\"new\"', 'NEW')");
    drain_printed(fixture, 1);
    assert_number(fixture->conn, 2, "SELECT count(*) FROM outbox_parked");
    sql(fixture->conn, "UPDATE outbox_parked SET topic = 'good'");
    expect_run(fixture, 0, "dead", "retry", "--all");
    drain_printed(fixture, 0);
    assert_string_equal(sql_text(fixture->conn, "SELECT string_agg(line->>'payload', ',' ORDER BY"
                                                " line->>'payload') FROM printed"),
                        "new,old,older");
    assert_string_equal(
        sql_text(fixture->conn, "SELECT string_agg(status, ',' ORDER BY id) FROM outbox"),
        "DRAFT,SENT");
}

FIXTURE_TEST(a_row_whose_copy_is_dropped_is_left_as_it_is)
{
    open_with(fixture, "key", "mark", "");
    insert_and_drain(fixture);
    expect_run(fixture, 0, "dead", "drop", "3");
    drain_printed(fixture, 0);
    assert_number(fixture->conn, 11, "SELECT count(*) FROM printed");
    assert_number(fixture->conn, 1, "SELECT count(*) FROM outbox WHERE status = 'DEAD'");
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked");
}

FIXTURE_TEST(a_row_whose_values_cannot_be_computed_stays_and_is_computed_anew)
{
    for (int i = 0; i < 2; i++) {
        open_with(fixture, orders[i], "mark", "[outbox.columns]\npayload = \"(details::jsonb)\"\n");
        sql(fixture->conn,
            "INSERT INTO outbox (topic, key, details) SELECT 'good', 'k' || n %% 3, CASE n WHEN 3"
            " THEN '{broken' ELSE n::text END FROM generate_series(1, 12) n");
        drain_printed(fixture, 1);
        assert_number(fixture->conn, 1,
                      "SELECT count(*) FROM outbox WHERE id = 3 AND status = 'DEAD'"
                      " AND last_error LIKE '%%invalid input syntax for type json%%'");
        sql(fixture->conn, "UPDATE outbox SET details = '3' WHERE id = 3");
        expect_run(fixture, 0, "dead", "retry", "--all");
        drain_printed(fixture, 0);
        assert_all_left(fixture, orders[i], "mark");
    }
}

/* What happens when row 3 is changed, unless it becomes dead. */
static void keep_row_3(struct fixture *fixture, const char *what)
{
    sql(fixture->conn,
        "CREATE OR REPLACE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF OLD.id ="
        " 3 AND NEW.status <> 'DEAD' THEN %s; END IF; RETURN NEW; END $$;"
        " CREATE TRIGGER keep BEFORE UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION keep()",
        what);
}

static void retry_row_3(struct fixture *fixture)
{
    sql(fixture->conn, "ALTER TABLE outbox DISABLE TRIGGER keep; UPDATE outbox SET topic = 'good'"
                       " WHERE id = 3; ALTER TABLE outbox ENABLE TRIGGER keep");
    expect_run(fixture, 0, "dead", "retry", "3");
    drain_printed(fixture, 0);
}

/* Its event has left, and must not leave again and again. */
FIXTURE_TEST(a_row_that_a_trigger_keeps_from_its_mark_holds_nothing_up)
{
    static const char *const kept[] = {"RAISE 'kept'", "RETURN NULL"};

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        open_with(fixture, "key", "mark", "");
        keep_row_3(fixture, kept[i]);
        insert_and_drain(fixture);
        retry_row_3(fixture);
        assert_says(fixture->process.err, "only its copy");
        assert_true(sql_number(fixture->conn, "SELECT count(*) FROM printed WHERE line->>'payload'"
                                              " = '3'") <= 2);
        assert_number(fixture->conn, 12,
                      "SELECT count(DISTINCT line->>'payload') FROM"
                      " printed");
        assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked");
    }
}

/* A full disk is no reason to leave a row unmarked for good. */
FIXTURE_TEST(a_server_that_is_short_of_something_is_waited_for)
{
    open_with(fixture, "key", "mark", "");
    sql(fixture->conn, "DROP SEQUENCE IF EXISTS tries; CREATE SEQUENCE tries");
    keep_row_3(fixture, "IF nextval('public.tries') < 8 THEN"
                        " RAISE 'full' USING ERRCODE = 'disk_full'; END IF");
    insert_and_drain(fixture);
    retry_row_3(fixture);
    assert_null(strstr(fixture->process.err, "only its copy"));
    assert_says(fixture->process.err, "full");
    assert_number(fixture->conn, 12, "SELECT count(*) FROM outbox WHERE status = 'SENT'");
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked");
}

FIXTURE_TEST(a_park_list_that_cannot_work_is_named)
{
    static const char *const cases[][2] = {
        {"attempts = $attempts", "is still within [outbox] where"},
        {"status = CASE $state WHEN 'behind' THEN 'NEW' ELSE 'FAILED' END", "$state = 'behind'"},
        {"status = 'FAILED', id = 7", "the id or the key, which must stay"},
        {"status = 'FAILED', key = NULL", "the id or the key, which must stay"},
        {"status = 'FAILED', last_error = $reason", "PostgreSQL refuses status = 'FAILED',"},
        {"status = 'FAILED', attempts = $error",
         "is of type integer but expression is of type text"},
        {"status = 'FAILED' WHERE true --", "PostgreSQL refuses"},
        {"last_error = $error, status = NULL", "null value in column"},
    };

    open_with(fixture, "key", "mark", "");
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('good')");
    expect(fixture, run_command(fixture, "check"), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_relay_toml(fixture,
                         "[outbox]\nadopt = true\nwhere = \"status = 'NEW'\"\nmark = \"status ="
                         " 'SENT'\"\npark = \"%s\"\n" STDOUT_SINK "\n",
                         cases[i][0]);
        (void)run_command(fixture, "check");
        assert_says(fixture->process.out, cases[i][1]);
    }
}
