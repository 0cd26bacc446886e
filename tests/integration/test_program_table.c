/* A table that was there before the relay: nothing of it is sent, marked, purged or deleted until
 * the operator has said so, and rows outside [outbox] where never are. */
#include "integration/program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

FIXTURE(fixture_open_empty, fixture_close)

static void write_config_for(struct fixture *fixture, const char *outbox)
{
    write_relay_toml(fixture,
                     "[outbox]\ntable = \"public.events\"\n"
                     "%s\n[relay]\npoll_interval = \"50ms\"\n" STDOUT_SINK "\n",
                     outbox);
}

/* A table of another program, that keeps its own mark of what was sent. */
static const char events[] =
    "CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    " event_id uuid NOT NULL DEFAULT gen_random_uuid(), topic text NOT NULL, key text,"
    " payload jsonb, status text NOT NULL DEFAULT 'NEW', processed_at timestamptz, urgent bool,"
    " note text, sent_at timestamptz)";

static void make_events(struct fixture *fixture)
{
    sql(fixture->conn, "SET client_min_messages = warning;"
                       " DROP TABLE IF EXISTS events, events_parked, events_control, events_slice");
    sql(fixture->conn, "%s", events);
}

static void make_events_without_sent_at(struct fixture *fixture)
{
    make_events(fixture);
    sql(fixture->conn, "ALTER TABLE events DROP COLUMN sent_at");
}

static void insert_events(struct fixture *fixture, const char *status, int count)
{
    sql(fixture->conn,
        "INSERT INTO events (topic, key, payload, status) SELECT 't', (i %% 7)::text, to_jsonb(i),"
        " '%s' FROM generate_series(1, %d) i",
        status, count);
}

/* Every version of every row, whatever statement may have touched it. */
static void remember(struct fixture *fixture, const char *where)
{
    sql(fixture->conn,
        "DROP TABLE IF EXISTS before; CREATE TABLE before AS SELECT id, ctid::text AS"
        " place, xmin::text AS version, xmax::text AS locked FROM events WHERE %s",
        where);
}

static void assert_untouched(struct fixture *fixture)
{
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM before b WHERE NOT EXISTS (SELECT FROM events"
                  " e WHERE e.id = b.id AND e.ctid::text = b.place AND e.xmin::text ="
                  " b.version AND e.xmax::text = b.locked)");
}

FIXTURE_TEST(rows_that_another_program_has_sent_are_not_sent_by_a_first_run)
{
    make_events_without_sent_at(fixture);
    insert_events(fixture, "SENT", 1000);
    write_config_for(fixture, "on_sent = \"delete\"");
    remember(fixture, "true");
    init_existing(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
    assert_string_equal(fixture->process.out, "the tables are ready\n");
    assert_says(fixture->process.err, "warning: table \"public\".\"events\" was not created by"
                                      " outbox-relay: 1000 rows would be sent and deleted; columns"
                                      " that may mark rows as sent: status (text),"
                                      " processed_at (timestamp with time zone), urgent (boolean)");
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "error: table \"public\".\"events\" was not created by"
                                      " outbox-relay: 1000 rows would be sent and deleted;");
    expect(fixture, run_drain(fixture), 3);
    assert_string_equal(fixture->process.out, "");
    assert_says(fixture->process.err, "1000 rows would be sent and deleted; columns that may mark "
                                      "rows as sent: status (text), processed_at");
    assert_says(fixture->process.err, "set [outbox] adopt = true");
    expect(fixture, run_command(fixture, "run"), 3);
    assert_string_equal(fixture->process.out, "");
    assert_untouched(fixture);
    assert_number(fixture->conn, 1000, "SELECT count(*) FROM events");
}

FIXTURE_TEST(what_is_counted_is_bounded)
{
    make_events(fixture);
    insert_events(fixture, "NEW", 100001);
    write_config_for(fixture, "on_sent = \"mark\"");
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out,
                "more than 100000 rows would be sent and marked; columns that may mark rows as"
                " sent: status (text)");
}

FIXTURE_TEST(adopt_is_needed_once)
{
    make_events(fixture);
    insert_events(fixture, "NEW", 500);
    write_config_for(fixture, "adopt = true");
    init_existing(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
    assert_null(strstr(fixture->process.err, "warning"));
    expect_drained(fixture, 0, 500);
    insert_events(fixture, "NEW", 50);
    write_config_for(fixture, "");
    expect(fixture, run_command(fixture, "check"), 0);
    expect_drained(fixture, 0, 50);
}

FIXTURE_TEST(what_settles_a_table_is_neither_shown_nor_purged)
{
    make_events(fixture);
    insert_events(fixture, "NEW", 5);
    write_config_for(fixture, "adopt = true");
    init_existing(fixture);
    expect(fixture, run_drain(fixture), 0);
    expect_run(fixture, 0, "purge", "--older-than", "0");
    expect_run(fixture, 0, "dead", "list", "--json");
    assert_string_equal(fixture->process.out, "");
    expect_run(fixture, 0, "dead", "drop", "--all");
    expect_run(fixture, 0, "status", "--json");
    assert_says(fixture->process.out, "\"dead\":0");
    insert_events(fixture, "NEW", 5);
    write_config_for(fixture, "");
    expect_drained(fixture, 0, 5);
}

FIXTURE_TEST(rows_that_come_once_a_table_was_seen_empty_are_the_relays)
{
    make_events_without_sent_at(fixture);
    write_config_for(fixture, "on_sent = \"delete\"");
    init_existing(fixture);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM events_control");
    expect(fixture, run_drain(fixture), 0);
    insert_events(fixture, "NEW", 10);
    expect(fixture, run_command(fixture, "check"), 0);
    expect_drained(fixture, 0, 10);
    make_events_without_sent_at(fixture);
    insert_events(fixture, "NEW", 10);
    init_existing(fixture);
    sql(fixture->conn, "DELETE FROM events");
    expect(fixture, run_command(fixture, "check"), 0);
    insert_events(fixture, "NEW", 10);
    expect(fixture, run_command(fixture, "check"), 3); /* it has only looked */
    sql(fixture->conn, "DELETE FROM events");
    expect(fixture, run_drain(fixture), 0);
    insert_events(fixture, "NEW", 10);
    expect_drained(fixture, 0, 10);
}

FIXTURE_TEST(a_table_that_init_created_needs_no_adopt)
{
    write_config_for(fixture, "");
    expect_run(fixture, 0, "init");
    sql(fixture->conn, "ALTER TABLE events ADD COLUMN status text, ADD COLUMN done bool");
    sql(fixture->conn, "INSERT INTO events (topic) SELECT 't' FROM generate_series(1, 10)");
    expect(fixture, run_command(fixture, "check"), 0);
    expect_drained(fixture, 0, 10);
}

/* The relay that runs has left the note of its condition. */
FIXTURE_TEST(a_condition_is_refused_beside_a_relay_without_one)
{
    static const char *const tables[] = {"", "CREATE"};

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        sql(fixture->conn,
            "SET client_min_messages = warning;"
            " DROP TABLE IF EXISTS events, events_parked, events_control, events_slice");
        if (tables[i][0] != '\0')
            make_events(fixture);
        write_config_for(fixture, "");
        init_existing(fixture);
        expect(fixture, run_drain(fixture), 0);
        write_config_for(fixture, "where = \"topic = 'mine'\"\nadopt = true");
        expect(fixture, run_drain(fixture), 3); /* the index is missing too */
        assert_says(fixture->process.err, "is relayed by another condition: \"rows are sent WHERE"
                                          " \"sent_at\" IS NULL\", not");
        expect(fixture, run_command(fixture, "init"), 5);
        assert_says(fixture->process.err, "is relayed by another condition");
        assert_says(fixture->process.out, "DROP INDEX CONCURRENTLY public.events_slice_idx;");
        execute_printed(fixture);
        expect(fixture, run_drain(fixture), 3);
        assert_says(fixture->process.err, "is relayed by another condition");
    }
}

FIXTURE_TEST(relays_that_start_at_once_settle_a_table_together)
{
    struct process relays[4];

    make_events(fixture);
    insert_events(fixture, "NEW", 3000);
    write_config_for(fixture, "adopt = true");
    init_existing(fixture);
    sql(fixture->conn, "DELETE FROM events_control");
    for (int i = 0; i < 4; i++)
        process_start(&relays[i], NULL, "run", "--drain", "-c", fixture->config, NULL);
    for (int i = 0; i < 4; i++) {
        process_wait(&relays[i]);
        assert_int_equal(relays[i].status, 0);
        process_free(&relays[i]);
    }
    assert_number(fixture->conn, 2, "SELECT count(*) FROM events_control");
    assert_number(fixture->conn, 0, "SELECT count(*) FROM events WHERE sent_at IS NULL");
}

/* psql goes on after an error unless it is told otherwise. */
FIXTURE_TEST(sql_that_init_prints_for_another_database_marks_no_table_that_is_there)
{
    const char *psql[] = {"BEGIN", "CREATE TABLE events (id int)",
                          "COMMENT ON TABLE events IS 'outbox-relay: created by init'", "COMMIT"};

    write_config_for(fixture, "");
    expect_run(fixture, 0, "init", "--print");
    for (size_t i = 0; i < sizeof psql / sizeof *psql; i++) {
        char start[32];

        (void)snprintf(start, sizeof start, "%.16s", psql[i]);
        if (i != 2)
            assert_says(fixture->process.out,
                        i == 1 ? "CREATE TABLE \"public\".\"events\"" : start);
    }
    make_events(fixture);
    insert_events(fixture, "SENT", 10);
    for (size_t i = 0; i < sizeof psql / sizeof *psql; i++)
        PQclear(PQexec(fixture->conn, psql[i]));
    init_existing(fixture);
    expect(fixture, run_drain(fixture), 3);
    assert_says(fixture->process.err, "10 rows would be sent and marked");
}

FIXTURE_TEST(a_restricted_role_settles_a_table_too)
{
    make_events(fixture);
    insert_events(fixture, "NEW", 10);
    sql(fixture->conn, "ALTER TABLE events OWNER TO " HARNESS_RELAY);
    write_config_for(fixture, "");
    init_existing(fixture);
    make_role(fixture, "adopter");
    log_in_as(fixture, "adopter");
    write_config_for(fixture, "");
    expect(fixture, run_drain(fixture), 3);
    write_config_for(fixture, "adopt = true");
    expect(fixture, run_command(fixture, "check"), 0);
    expect(fixture, run_drain(fixture), 0);
    insert_events(fixture, "NEW", 10);
    write_config_for(fixture, "");
    expect_drained(fixture, 0, 10);
    sql(fixture->conn, "DROP OWNED BY adopter; DROP ROLE adopter");
}

/* ---- [outbox] where ---- */

#define NEW_ONLY "where = \"status = 'NEW'\"\n"
#define NEW_TWICE                                                                                  \
    "where = \"(status = 'NEW' AND id > 0) AND (urgent IS NULL OR (urgent AND id > 1))\"\n"

/* Rows of each key in the order of their ids, and each once. */
static void assert_printed_in_order(struct fixture *fixture, int count)
{
    load_printed(fixture, fixture->process.out);
    assert_number(fixture->conn, count, "SELECT count(DISTINCT line->>'id') FROM printed");
    assert_int_equal(count_lines(fixture->process.out), count);
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT (line->'payload')::int AS n, lag((line->'payload')"
                  "::int) OVER (PARTITION BY line->>'key' ORDER BY place) AS before FROM printed) o"
                  " WHERE before > n");
    sql(fixture->conn, "DROP TABLE printed");
}

FIXTURE_TEST(rows_outside_where_are_never_touched)
{
    static const char *const modes[] = {"on_sent = \"mark\"", "on_sent = \"delete\"",
                                        "on_sent = \"mark\"\norder = \"none\"",
                                        "on_sent = \"delete\"\norder = \"none\""};
    char outbox[256];

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        (void)snprintf(outbox, sizeof outbox, "%sadopt = true\n%s",
                       i % 2 == 0 ? NEW_ONLY : NEW_TWICE, modes[i]);
        write_config_for(fixture, outbox);
        make_events(fixture);
        sql(fixture->conn,
            "INSERT INTO events (topic, key, payload, status) SELECT 't', (i %% 7)::text,"
            " to_jsonb(i), CASE WHEN i %% 4 = 0 THEN 'NEW' ELSE 'SENT' END"
            " FROM generate_series(1, 4000) i");
        init_existing(fixture);
        remember(fixture, "status <> 'NEW'");
        if (i == 0) {
            expect_run(fixture, 0, "status", "--json");
            assert_says(fixture->process.out, "\"backlog\":1000");
        }
        expect(fixture, run_drain(fixture), 0);
        if (i < 2)
            assert_printed_in_order(fixture, 1000);
        assert_int_equal(count_lines(fixture->process.out), 1000);
        assert_untouched(fixture);
        assert_number(fixture->conn, 3000, "SELECT count(*) FROM before");
    }
    expect_run(fixture, 0, "status", "--json");
    assert_says(fixture->process.out, "\"backlog\":0");
}

FIXTURE_TEST(the_index_holds_the_condition_and_no_other_serves)
{
    make_events(fixture);
    write_config_for(fixture, "");
    init_existing(fixture);
    write_config_for(fixture, NEW_ONLY);
    expect(fixture, run_command(fixture, "run"), 3);
    assert_says(fixture->process.err, "no index over its unsent rows within [outbox] where");
    assert_says(fixture->process.err, "SET search_path = ''; CREATE INDEX CONCURRENTLY");
    expect(fixture, run_command(fixture, "init"), 5);
    assert_says(fixture->process.out,
                " 64), \"id\") WHERE \"sent_at\" IS NULL AND (status = 'NEW');\n");
    assert_says(fixture->process.out, "SET search_path = '';\nCREATE INDEX CONCURRENTLY ");
    assert_says(fixture->process.out, "DROP INDEX CONCURRENTLY public.events_slice_idx;\n");
    sql(fixture->conn, "DELETE FROM events_control"); /* as the refusal of another condition says */
    init_existing(fixture);
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM pg_index WHERE indrelid = 'events'::regclass"
                  " AND pg_get_expr(indpred, indrelid) = '((sent_at IS NULL) AND"
                  " (status = ''NEW''::text))'");
    expect(fixture, run_drain(fixture), 0);
    write_config_for(fixture, "where = \"(( status)='NEW'::pg_catalog.text )\"");
    expect(fixture, run_command(fixture, "check"), 3); /* the same index, but another text */
    assert_null(strstr(fixture->process.out, "no index"));
    assert_says(fixture->process.out, "is relayed by another condition");
}

/* With order = "none" a missing index only costs speed. */
FIXTURE_TEST(without_order_the_index_holds_the_condition_too)
{
    make_events_without_sent_at(fixture);
    write_config_for(fixture, "order = \"none\"\non_sent = \"delete\"\n" NEW_ONLY);
    expect(fixture, run_command(fixture, "init"), 5);
    assert_says(fixture->process.out, "CREATE INDEX CONCURRENTLY \"events_unsent_idx\" ON"
                                      " \"public\".\"events\" (\"id\") WHERE (status = 'NEW');\n");
    init_existing(fixture);
    expect(fixture, run_drain(fixture), 0);
    write_config_for(fixture, "order = \"none\"\non_sent = \"delete\"\nwhere = \"status = 'A'\"");
    expect(fixture, run_command(fixture, "check"), 3); /* of another condition */
    assert_says(fixture->process.out, "warning: table \"public\".\"events\" has no index over its"
                                      " unsent rows within [outbox] where by \"id\"");
    assert_says(fixture->process.out, "\"events_unsent_idx_2\"");
}

FIXTURE_TEST(a_condition_that_postgresql_refuses_names_the_key_and_makes_nothing)
{
    static const struct {
        const char *where;
        const char *why;
    } refused[] = {
        {"processed_at < now()", "functions in index predicate must be marked IMMUTABLE"},
        {"state = 'NEW'", "\"state\" does not exist"},
        {"true) OR (true", "syntax error"},
        {"true; DROP TABLE events", "cannot insert multiple commands"},
        {"true -- )", "syntax error"},
        {"status", "must be type boolean"},
        {"status = $1", "requires 1"},
        {"id IN (SELECT 1)", "cannot use subquery in index predicate"},
        {"true LIMIT 5", "syntax error"},
    };
    char outbox[256];

    make_events(fixture);
    insert_events(fixture, "NEW", 5);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        (void)snprintf(outbox, sizeof outbox, "adopt = true\nwhere = \"%s\"", refused[i].where);
        write_config_for(fixture, outbox);
        expect(fixture, run_command(fixture, "init"), 3);
        assert_says(fixture->process.err, "[outbox] where: PostgreSQL refuses this condition:");
        assert_says(fixture->process.err, refused[i].why);
        assert_number(fixture->conn, 0,
                      "SELECT count(to_regclass('events_parked')) +"
                      " count(to_regclass('events_slice'))");
        assert_number(fixture->conn, 5, "SELECT count(*) FROM events");
    }
    /* `check` and `run` ask as init does. */
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "error: [outbox] where: PostgreSQL refuses this condition:");
    assert_null(strstr(fixture->process.out, "CREATE INDEX"));
    expect(fixture, run_command(fixture, "run"), 3);
    assert_string_equal(fixture->process.out, "");
    write_config_for(fixture, "order = \"none\"");
    init_existing(fixture);
    write_config_for(fixture, "order = \"none\"\nadopt = true\nwhere = \"id IN (SELECT 1)\"");
    expect(fixture, run_drain(fixture), 3); /* without an index that has it */
    assert_says(fixture->process.err, "[outbox] where: PostgreSQL refuses this condition:");
    sql(fixture->conn, "DROP TABLE events, events_parked, events_control");
    write_config_for(fixture, "where = \"tenant = 'a'\"");
    expect(fixture, run_command(fixture, "init"), 3);
    assert_says(fixture->process.err, "[outbox] where: ");
    assert_number(fixture->conn, 0, "SELECT count(to_regclass('events'))");
}

/* By then its id is below every bound (docs/internals/horizon.md). */
FIXTURE_TEST(a_row_that_an_update_brings_within_where_is_sent)
{
    struct process relay;

    make_events(fixture);
    write_config_for(fixture, NEW_ONLY);
    init_existing(fixture);
    expect(fixture, run_drain(fixture), 0);
    insert_events(fixture, "HELD", 20);
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    insert_events(fixture, "NEW", 2000);
    wait_for_number(fixture->conn, 2000, "SELECT count(*) FROM events WHERE sent_at IS NOT NULL");
    sql(fixture->conn, "UPDATE events SET status = 'NEW' WHERE status = 'HELD' AND id %% 2 = 0");
    wait_for_number(fixture->conn, 2010, "SELECT count(*) FROM events WHERE sent_at IS NOT NULL");
    sql(fixture->conn, "BEGIN; INSERT INTO events (topic, status) VALUES ('t', 'DRAFT');"
                       " UPDATE events SET status = 'NEW' WHERE status = 'DRAFT'; COMMIT");
    wait_for_number(fixture->conn, 2011, "SELECT count(*) FROM events WHERE sent_at IS NOT NULL");
    process_stop(&relay, SIGTERM);
    assert_int_equal(relay.status, 0);
    assert_int_equal(count_lines(relay.out), 2011);
    assert_number(fixture->conn, 10, "SELECT count(*) FROM events WHERE sent_at IS NULL");
    process_free(&relay);
}

FIXTURE_TEST(a_row_that_an_update_takes_out_of_where_while_it_is_claimed_is_left)
{
    PGconn *other = harness_connect(fixture->url);
    struct process relay;

    make_events(fixture);
    write_config_for(fixture, NEW_ONLY);
    init_existing(fixture);
    expect(fixture, run_drain(fixture), 0);
    insert_events(fixture, "NEW", 10);
    sql(other, "BEGIN; UPDATE events SET status = 'HELD' WHERE id = 3");
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1,
                    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                    " AND application_name LIKE 'outbox-relay/%' LIMIT 1");
    sql(other, "COMMIT");
    PQfinish(other);
    wait_for_number(fixture->conn, 9, "SELECT count(*) FROM events WHERE sent_at IS NOT NULL");
    process_stop(&relay, SIGTERM);
    assert_int_equal(count_lines(relay.out), 9);
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM events WHERE id = 3 AND sent_at"
                  " IS NULL AND status = 'HELD'");
    process_free(&relay);
}

/* An index that cannot be compared with the configuration is not reported as unused. */
FIXTURE_TEST(a_mistyped_condition_or_column_drops_no_index_in_use)
{
    static const char *const mistyped[] = {"where = \"(select 1\"", "where = \"nothere = 'x'\"",
                                           "[outbox.columns]\nsent_at = \"sentt_at\""};

    write_config_for(fixture, "");
    expect_run(fixture, 0, "init");
    for (int i = 0; i < 3; i++) {
        write_config_for(fixture, mistyped[i]);
        expect_run(fixture, 3, "check");
        assert_null(strstr(fixture->process.out, "DROP INDEX"));
        process_free(&fixture->process);
        (void)run(fixture, "init", "-c", fixture->config);
        assert_null(strstr(fixture->process.out, "DROP INDEX"));
        assert_null(strstr(fixture->process.err, "DROP INDEX"));
        process_free(&fixture->process);
    }
}

FIXTURE_TEST(the_relays_of_a_table_have_one_condition)
{
    make_events(fixture);
    write_config_for(fixture, "where = \"key = 'a'\"");
    init_existing(fixture);
    expect(fixture, run_drain(fixture), 0);
    sql(fixture->conn, "INSERT INTO events (topic, key) VALUES ('t', 'a'), ('t', 'b')");
    expect_drained(fixture, 0, 1);
    write_config_for(fixture, "where = \"key = 'b'\"\nadopt = true");
    expect(fixture, run_command(fixture, "init"), 5);
    assert_says(fixture->process.err, "is relayed by another condition");
    execute_printed(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
    assert_says(fixture->process.err, "warning: [outbox] where: table \"public\".\"events\" is"
                                      " relayed by another condition");
    expect(fixture, run_drain(fixture), 3);
    assert_says(fixture->process.err,
                "[outbox] where: table \"public\".\"events\" is relayed by another condition:"
                " \"rows are sent WHERE \"sent_at\" IS NULL AND (key = 'a')\", not \"rows are sent"
                " WHERE \"sent_at\" IS NULL AND (key = 'b')\"");
    assert_says(fixture->process.err,
                "DELETE FROM \"public\".\"events_control\" WHERE kind = 'setting' AND name ="
                " 'condition'");
    assert_number(fixture->conn, 1, "SELECT count(*) FROM events WHERE sent_at IS NULL");
    sql(fixture->conn, "DELETE FROM events_control WHERE kind = 'setting' AND name = 'condition'");
    expect_drained(fixture, 0, 1);
}

/* A relay of an older version has kept no order; the next one does. */
FIXTURE_TEST(the_relays_of_a_table_have_one_order_and_key)
{
    static const char *const others[] = {"columns.key = \"status\"", "columns.key = \"\"",
                                         "order = \"none\""};
    static const char *const shown[] = {"order = \"key\" with the key \"status\"",
                                        "order = \"key\" without a key",
                                        "order = \"none\" with the key \"key\""};
    char line[256];

    make_events(fixture);
    write_config_for(fixture, "");
    init_existing(fixture);
    sql(fixture->conn, "DELETE FROM events_control WHERE name = 'order'");
    expect(fixture, run_drain(fixture), 0);
    for (int i = 0; i < 3; i++) {
        write_config_for(fixture, others[i]);
        expect(fixture, run_drain(fixture), 3);
        (void)snprintf(line, sizeof line,
                       "[outbox] order: table \"public\".\"events\" is relayed by another order or"
                       " key: order = \"key\" with the key \"key\", not %s;",
                       shown[i]);
        assert_says(fixture->process.err, line);
        expect(fixture, run_command(fixture, "check"), 3);
        assert_says(fixture->process.out, line);
    }
    assert_says(fixture->process.out, "DELETE FROM \"public\".\"events_control\" WHERE kind ="
                                      " 'setting' AND name = 'order'");
    sql(fixture->conn, "DELETE FROM events_control WHERE name = 'order'");
    expect(fixture, run_drain(fixture), 0);
}

/* As if relays had sent from the table for a year. */
static void adopt_long_ago(struct fixture *fixture)
{
    say_only_relay_writes(fixture, "events.sent_at");
    expect(fixture, run_drain(fixture), 0);
    sql(fixture->conn, "UPDATE events_control SET set_at = now() - interval '1 year'");
}

FIXTURE_TEST(a_purge_leaves_rows_outside_where_alone)
{
    make_events(fixture);
    write_config_for(fixture, NEW_ONLY "adopt = true");
    init_existing(fixture);
    adopt_long_ago(fixture);
    sql(fixture->conn, "INSERT INTO events (topic, status, sent_at) SELECT 't', CASE WHEN i > 1500"
                       " THEN 'NEW' ELSE 'OLD' END, now() - interval '30 days'"
                       " FROM generate_series(1, 3000) i");
    remember(fixture, "status = 'OLD'");
    expect_run(fixture, 0, "purge", "--dry-run");
    assert_says(fixture->process.out, "1500");
    expect_run(fixture, 0, "purge");
    assert_untouched(fixture);
    assert_number(fixture->conn, 1500, "SELECT count(*) FROM events");
}

FIXTURE_TEST(an_error_that_the_condition_raises_names_it)
{
    struct process relay;

    make_events(fixture);
    write_config_for(fixture, "adopt = true\norder = \"none\"\nwhere = \"10 / (id - 1) > 0\"");
    (void)run_command(fixture, "init");
    adopt_long_ago(fixture);
    sql(fixture->conn, "INSERT INTO events (topic, sent_at) VALUES ('t', now() - interval '9 d')");
    expect_run(fixture, 3, "purge", "--dry-run");
    assert_says(fixture->process.err, "[outbox] where cannot be evaluated for a row of"
                                      " \"public\".\"events\": database: division_by_zero");
    expect(fixture, run_command(fixture, "purge"), 3);
    assert_says(fixture->process.err, "[outbox] where cannot be evaluated");
    sql(fixture->conn, "TRUNCATE events RESTART IDENTITY");
    expect(fixture, run_drain(fixture), 0);
    insert_events(fixture, "NEW", 1);
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&relay, "[outbox] where cannot be evaluated for a row of");
    process_stop(&relay, SIGTERM);
    process_free(&relay);
    assert_number(fixture->conn, 1, "SELECT count(*) FROM events");
}

FIXTURE_TEST(a_row_outside_where_that_cannot_be_read_is_not_parked)
{
    make_events(fixture);
    sql(fixture->conn, "ALTER TABLE events ADD COLUMN created_at text DEFAULT '2026-01-31'");
    write_config_for(fixture, NEW_ONLY);
    init_existing(fixture);
    expect(fixture, run_drain(fixture), 0);
    sql(fixture->conn, "INSERT INTO events (topic, key, created_at, status) VALUES"
                       " ('t', 'a', 'no time', 'OLD'), ('t', 'b', 'no time', 'NEW'),"
                       " ('t', 'c', '2026-01-31', 'NEW')");
    remember(fixture, "status = 'OLD'");
    expect_drained(fixture, 1, 1);
    assert_untouched(fixture);
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM events_parked WHERE sent_at IS"
                  " NULL");
    sql(fixture->conn, "UPDATE events_parked SET created_at = '2026-01-31' WHERE sent_at IS NULL");
    expect_run(fixture, 0, "dead", "retry", "--all");
    expect_drained(fixture, 0, 1);
}

/* ---- what fits ---- */

FIXTURE_TEST(init_creates_nothing_beside_a_table_with_columns_of_other_types)
{
    static const char *const said[] = {
        "column \"event_id\" (event_id) of \"public\".\"events\" has type jsonb; it must be uuid,",
        "column \"topic\" (topic) of \"public\".\"events\" has type integer; it must be text,",
        "column \"key\" (key) of \"public\".\"events\" has type text[]; it must be text,",
        "column \"type\" (type) of \"public\".\"events\" has type boolean; it must be text,",
        "column \"payload\" (payload) of \"public\".\"events\" has type integer; it must be jsonb,",
        "column \"headers\" (headers) of \"public\".\"events\" has type text[]; it must be jsonb,",
        "column \"created_at\" (created_at) of \"public\".\"events\" has type bigint; it must be",
        "column \"sent_at\" (sent_at) of \"public\".\"events\" has type date; it must be "
        "timestamptz or"
        " timestamp with on_sent = \"mark\" or \"position\": change the type, or map another column in "
        "[outbox.columns]",
    };

    sql(fixture->conn, "CREATE TABLE events (id bigint PRIMARY KEY, event_id jsonb, topic int, key"
                       " text[], type bool, payload int, headers text[], created_at bigint,"
                       " sent_at date)");
    write_config_for(fixture, "");
    expect(fixture, run_command(fixture, "init"), 3);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        assert_says(fixture->process.err, said[i]);
    assert_says(fixture->process.err,
                "nothing was created: table \"public\".\"events\" cannot be used as it is");
    assert_says(fixture->process.err,
                "  ALTER TABLE \"public\".\"events\" ALTER COLUMN \"topic\" TYPE"
                " pg_catalog.text USING \"topic\"::pg_catalog.text;\n");
    assert_number(fixture->conn, 0,
                  "SELECT count(to_regclass('events_parked')) +"
                  " count(to_regclass('events_slice'))");
    expect(fixture, run_command(fixture, "check"), 3);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        assert_says(fixture->process.out, said[i]);
    write_config_for(fixture, "on_sent = \"delete\"");
    expect(fixture, run_command(fixture, "check"), 3);
    assert_null(strstr(fixture->process.out, "column \"sent_at\" (sent_at) of")); /* NULL or not */
}

FIXTURE_TEST(init_creates_nothing_while_a_column_is_missing)
{
    make_events_without_sent_at(fixture);
    sql(fixture->conn, "ALTER TABLE events DROP COLUMN processed_at"); /* it might be sent_at */
    write_config_for(fixture, "");
    expect(fixture, run_command(fixture, "init"), 5);
    assert_says(fixture->process.err, "nothing was created: table \"public\".\"events\" lacks");
    assert_says(fixture->process.out, "ALTER TABLE \"public\".\"events\" ADD COLUMN \"sent_at\"");
    assert_number(fixture->conn, 0,
                  "SELECT count(to_regclass('events_parked')) +"
                  " count(to_regclass('events_slice'))");
    execute_printed(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
    expect(fixture, run_command(fixture, "check"), 0);
}

FIXTURE_TEST(the_parked_table_follows_a_changed_type)
{
    make_events(fixture);
    write_config_for(fixture, "");
    init_existing(fixture);
    sql(fixture->conn, "INSERT INTO events (topic, key, payload) VALUES ('t', 'k', '{\"a\": 1}')");
    sql(fixture->conn,
        "INSERT INTO events_parked (id, event_id, topic, key, payload, state, due) SELECT id,"
        " event_id, topic, key, payload, 'retry', now() FROM events");
    sql(fixture->conn, "DELETE FROM events");
    sql(fixture->conn, "ALTER TABLE events ALTER COLUMN payload TYPE bytea USING"
                       " convert_to(payload::text, 'UTF8'),"
                       " ALTER COLUMN event_id DROP DEFAULT,"
                       " ALTER COLUMN event_id TYPE text");
    expect(fixture, run_command(fixture, "init"), 5);
    assert_says(fixture->process.out,
                "ALTER TABLE \"public\".\"events_parked\" ALTER COLUMN payload TYPE ");
    assert_says(fixture->process.out,
                "ALTER TABLE \"public\".\"events_parked\" ALTER COLUMN event_id TYPE ");
    execute_printed(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
    expect(fixture, run_command(fixture, "check"), 0);
    expect_drained(fixture, 0, 1);
    assert_says(fixture->process.out, "\"key\":\"k\"");
}
