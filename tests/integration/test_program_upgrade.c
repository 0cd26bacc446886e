/* What the relays' own tables lack: what `run` and `check` say of it, and how `init` adds it
 * without losing a row; and the tables of a newer version. */
#include "integration/program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* As a version before a new column or index leaves the tables, and a restore without comments. */
static const struct shape {
    const char *damage;
    const char *lacks; /* what run says; NULL: it starts */
    const char *added; /* what init says */
} shapes[] = {
    {"ALTER TABLE outbox_parked DROP COLUMN waits_for", "it lacks waits_for",
     "ALTER TABLE \"public\".\"outbox_parked\" ADD COLUMN waits_for pg_catalog.text;\n"},
    {"ALTER TABLE outbox_parked DROP COLUMN not_before, DROP CONSTRAINT due_is_of_tried,"
     " DROP CONSTRAINT state_is_known, ADD CONSTRAINT state_is_known CHECK (state IN"
     " ('retry', 'behind', 'waiting', 'paused', 'dead', 'sent'))",
     "it lacks not_before",
     "ALTER TABLE \"public\".\"outbox_parked\" DROP CONSTRAINT IF EXISTS state_is_known,"
     " ADD CONSTRAINT state_is_known CHECK (state OPERATOR(pg_catalog.=) ANY (ARRAY['retry',"},
    {"DROP INDEX outbox_parked_seq_idx", NULL,
     "CREATE INDEX ON \"public\".\"outbox_parked\" (seq) WHERE"},
    {"DROP TABLE outbox_control", "table \"public\".\"outbox_control\" does not exist", NULL},
    {"COMMENT ON TABLE outbox IS NULL; COMMENT ON TABLE outbox_control IS NULL", NULL,
     "COMMENT ON TABLE \"public\".\"outbox_control\" IS 'outbox-relay: schema 2;"},
};
#define SHAPE_COUNT (int)(sizeof shapes / sizeof *shapes)
#define SENT 5
#define UNSENT_ROWS 300
#define TRIED 3
#define LEFT                                                                                       \
    "SELECT count(*) FROM (SELECT FROM outbox WHERE sent_at IS NULL UNION ALL SELECT FROM"         \
    " outbox_parked WHERE sent_at IS NULL AND state <> 'dead') unsent"
#define RELATION_NAMES                                                                             \
    "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relnamespace ="          \
    " 'public'::regnamespace"

static void configure_by_key(struct fixture *fixture)
{
    write_relay_toml(fixture, "[relay]\npoll_interval = \"50ms\"\n" STDOUT_SINK "\n");
}

static int set_up_by_key(void **state)
{
    return fixture_open(state, configure_by_key);
}

FIXTURE(set_up_by_key, fixture_close)

/* Rows that are sent, unsent, waiting for their next attempt, dead, and sent from the parked table.
 * The first unsent rows of the keys 1 to 3 are the parked ones. */
static void make(struct fixture *fixture, const char *damage)
{
    print_message("%s\n", damage);
    sql(fixture->conn, "SET client_min_messages = warning; DROP TABLE IF EXISTS outbox,"
                       " outbox_parked, outbox_control, outbox_slice");
    expect_run(fixture, 0, "init");
    expect(fixture, run_drain(fixture), 0);
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload, sent_at) SELECT 'sent', n::text, to_jsonb(n),"
        " now() FROM generate_series(1, %d) n",
        SENT);
    sql(fixture->conn,
        "WITH moved AS (INSERT INTO outbox (topic, key, payload) SELECT 't', (n %% 10)::text,"
        " to_jsonb(n) FROM generate_series(1, %d) n RETURNING *), parked AS (INSERT INTO"
        " outbox_parked (id, event_id, topic, key, payload, created_at, state, attempts, due)"
        " SELECT id, event_id, topic, key, payload, created_at, 'retry', 2, now() FROM moved"
        " WHERE payload::int <= %d) SELECT",
        UNSENT_ROWS, TRIED);
    sql(fixture->conn, "DELETE FROM outbox o USING outbox_parked p WHERE o.id = p.id");
    sql(fixture->conn,
        "INSERT INTO outbox_parked (id, event_id, topic, key, created_at, state, attempts)"
        " VALUES (-2, gen_random_uuid(), 'dead', 'dead', now(), 'dead', 10);"
        "INSERT INTO outbox_parked (id, event_id, topic, created_at, state, sent_at)"
        " VALUES (-1, gen_random_uuid(), 'late', now(), 'sent', now())");
    assert_number(fixture->conn, UNSENT_ROWS, LEFT);
    sql(fixture->conn, "%s", damage);
}

/* Everything unsent was printed once, each key in the order of its rows. */
static void assert_drains(struct fixture *fixture)
{
    expect(fixture, run_drain(fixture), 1); /* one is dead */
    sql(fixture->conn, "DROP TABLE IF EXISTS printed");
    load_printed(fixture, fixture->process.out);
    assert_number(fixture->conn, UNSENT_ROWS,
                  "SELECT count(DISTINCT line->>'payload')"
                  " FROM printed");
    assert_number(fixture->conn, UNSENT_ROWS, "SELECT count(*) FROM printed");
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT (line->>'payload')::int AS n, lag((line->>"
                  "'payload')::int) OVER (PARTITION BY line->>'key' ORDER BY place) AS before"
                  " FROM printed) events WHERE n < before");
    assert_number(fixture->conn, 0, LEFT);
    assert_number(fixture->conn, SENT, "SELECT count(*) FROM outbox WHERE topic = 'sent'");
    assert_number(fixture->conn, 2,
                  "SELECT count(*) FROM outbox_parked WHERE topic IN"
                  " ('dead', 'late')");
}

/* init once more is harmless. */
static void assert_complete(struct fixture *fixture)
{
    expect_run(fixture, 0, "init");
    assert_null(strstr(fixture->process.err, "was added"));
    expect_run(fixture, 0, "check");
    assert_null(strstr(fixture->process.out, "has no index by"));
    assert_null(strstr(fixture->process.out, "is missing or differs"));
    assert_null(strstr(fixture->process.out, "lacks"));
    assert_says(sql_text(fixture->conn, "SELECT obj_description('outbox_control'::regclass)"),
                "outbox-relay: schema 2;");
}

FIXTURE_TEST(init_adds_what_the_tables_lack_and_loses_no_row)
{
    for (int i = 0; i < SHAPE_COUNT; i++) {
        make(fixture, shapes[i].damage);
        expect_run(fixture, 0, "init");
        if (shapes[i].added != NULL)
            assert_says(fixture->process.err, "what the tables lacked was added by:");
        if (shapes[i].added != NULL)
            assert_says(fixture->process.err, shapes[i].added);
        assert_complete(fixture);
        assert_drains(fixture);
    }
}

FIXTURE_TEST(what_init_prints_for_such_tables_does_the_same)
{
    for (int i = 0; i < SHAPE_COUNT; i++) {
        make(fixture, shapes[i].damage);
        expect_run(fixture, 0, "init", "--print");
        assert_null(strstr(fixture->process.out, "CREATE TABLE \"public\".\"outbox_parked\""));
        execute_printed(fixture);
        assert_complete(fixture);
        assert_drains(fixture);
    }
}

/* Without init a relay works as long as nothing is missing that it needs. */
FIXTURE_TEST(run_and_check_say_what_the_tables_lack)
{
    for (int i = 0; i < SHAPE_COUNT; i++) {
        make(fixture, shapes[i].damage);
        if (shapes[i].lacks == NULL) {
            assert_drains(fixture);
            continue;
        }
        expect(fixture, run_drain(fixture), 3);
        assert_says(fixture->process.err, shapes[i].lacks);
        assert_says(fixture->process.err, "outbox-relay init");
        expect_run(fixture, 3, "check");
        assert_says(fixture->process.out, "  fix: ");
        assert_number(fixture->conn, UNSENT_ROWS, LEFT);
    }
}

#define ASLEEP                                                                                     \
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname ="             \
    " current_database()"

/* Executed whenever somebody creates an index. */
static void on_index(struct fixture *fixture, const char *statement)
{
    sql(fixture->conn,
        "CREATE OR REPLACE FUNCTION on_index() RETURNS event_trigger LANGUAGE plpgsql AS"
        " $$BEGIN %s; END$$; DROP EVENT TRIGGER IF EXISTS on_index;"
        " CREATE EVENT TRIGGER on_index ON ddl_command_end WHEN TAG IN ('CREATE INDEX')"
        " EXECUTE FUNCTION on_index()",
        statement);
}

FIXTURE_TEST(an_init_that_fails_or_is_killed_changes_nothing)
{
    char before[4096];
    struct process process;

    make(fixture, shapes[0].damage);
    (void)snprintf(before, sizeof before, "%s", sql_text(fixture->conn, RELATION_NAMES));
    on_index(fixture, "RAISE 'the disk is full'");
    expect_run(fixture, 3, "init");
    assert_says(fixture->process.err, "raise_exception (SQLSTATE P0001)");
    assert_null(strstr(fixture->process.err, "was added"));
    on_index(fixture, "PERFORM pg_sleep(600)");
    process_start(&process, NULL, "init", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1, ASLEEP);
    process_stop(&process, SIGKILL);
    process_free(&process);
    sql(fixture->conn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event ="
                       " 'PgSleep' AND datname = current_database()");
    wait_for_number(fixture->conn, 0, ASLEEP);
    assert_string_equal(sql_text(fixture->conn, RELATION_NAMES), before);
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM pg_attribute WHERE attrelid ="
                  " 'outbox_parked'::regclass AND attname = 'waits_for'");
    assert_number(fixture->conn, UNSENT_ROWS, LEFT);
    sql(fixture->conn, "DROP EVENT TRIGGER on_index");
    expect_run(fixture, 0, "init");
    assert_complete(fixture);
    assert_drains(fixture);
}

FIXTURE_TEST(init_tells_a_role_that_may_not_alter_the_table_who_may)
{
    make(fixture, shapes[0].damage);
    sql(fixture->conn, "ALTER TABLE outbox OWNER TO postgres; ALTER TABLE outbox_parked OWNER TO"
                       " postgres; DROP TABLE outbox_control; GRANT ALL ON outbox, outbox_parked"
                       " TO " HARNESS_RELAY);
    expect_run(fixture, 3, "init");
    assert_says(fixture->process.err, "must be owner of table outbox_parked");
    assert_says(fixture->process.err,
                "run the command as the owner of \"public\".\"outbox_parked\"");
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM pg_class WHERE relname ="
                  " 'outbox_control'");
}

FIXTURE_TEST(init_waits_a_second_for_whoever_uses_the_parked_table)
{
    PGconn *reader = harness_connect(fixture->url);

    make(fixture, shapes[0].damage);
    sql(fixture->conn, "DROP TABLE outbox_control");
    sql(reader, "BEGIN; SELECT FROM outbox_parked");
    expect_run(fixture, 3, "init");
    assert_says(fixture->process.err, "nothing was changed; run the command again");
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM pg_class WHERE relname ="
                  " 'outbox_control'");
    sql(reader, "COMMIT");
    expect_run(fixture, 0, "init");
    PQfinish(reader);
}

/* Above 64 MiB; no index over the column exists that would make it slow. */
FIXTURE_TEST(a_large_parked_table_gets_its_index_by_hand)
{
    make(fixture, shapes[2].damage);
    sql(fixture->conn, "ALTER TABLE outbox_parked ALTER payload SET STORAGE PLAIN");
    sql(fixture->conn,
        "INSERT INTO outbox_parked (topic, payload, state, sent_at) SELECT 'old',"
        " to_jsonb(repeat('x', 7000)), 'sent', now() FROM generate_series(1, 8300) n");
    expect_run(fixture, 5, "init");
    assert_says(fixture->process.out, "CREATE INDEX CONCURRENTLY ON \"public\".\"outbox_parked\""
                                      " (seq) WHERE");
    execute_printed(fixture);
    assert_complete(fixture);
    assert_drains(fixture);
}

/* The last line of `check` has the first error once more. */
static int times_said(const char *command)
{
    return strcmp(command, "check") == 0 ? 2 : 1;
}

FIXTURE_TEST(the_tables_of_a_newer_version_are_left_alone)
{
    static const char *const commands[] = {"run", "init", "check", "status", "purge", "pause"};

    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t')");
    sql(fixture->conn, "COMMENT ON TABLE outbox_control IS 'outbox-relay: schema 3; more';"
                       " ALTER TABLE outbox_parked DROP COLUMN waits_for");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        expect(fixture, run_command(fixture, commands[i]), 3);
        assert_int_equal(process_count_words(&fixture->process, "has schema 3, made by a newer"
                                                                " outbox-relay"),
                         times_said(commands[i]));
    }
    expect_run(fixture, 3, "emit", "t", "k", "1");
    assert_number(fixture->conn, 1, UNSENT);
    sql(fixture->conn, "COMMENT ON TABLE outbox_control IS 'our notes'");
    expect(fixture, run_command(fixture, "init"), 0);
    assert_string_equal(
        sql_text(fixture->conn, "SELECT obj_description('outbox_control'::regclass)"), "our notes");
    expect(fixture, run_drain(fixture), 0);
}

/* Those of schema 1 have sentinel values, and a relay that knows these looks for the number on the
 * parked table. */
FIXTURE_TEST(tables_without_states_are_refused_by_name_and_those_with_states_tell_older_relays)
{
    static const char *const commands[] = {"run", "init", "check", "status", "purge", "pause"};

    assert_string_equal(
        sql_text(fixture->conn, "SELECT obj_description('outbox_parked'::regclass)"),
        "outbox-relay: schema 2");
    sql(fixture->conn, "ALTER TABLE outbox_parked DROP COLUMN state CASCADE;"
                       " INSERT INTO outbox_parked (id, topic) VALUES (1, 't')");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        expect(fixture, run_command(fixture, commands[i]), 3);
        assert_int_equal(
            process_count_words(&fixture->process, "was made by an outbox-relay before 0.1.0"),
            times_said(commands[i]));
    }
    assert_number(fixture->conn, 1, "SELECT count(*) FROM outbox_parked");
}

/* It was started before; a lane notices when it connects again. */
FIXTURE_TEST(a_relay_ends_when_the_tables_have_become_those_of_a_newer_version)
{
    struct process relay;

    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 2,
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name ~"
                    " '^outbox-relay/[^/]+/[0-9]+$' AND datname = current_database()");
    sql(fixture->conn, "COMMENT ON TABLE outbox_control IS 'outbox-relay: schema 3'");
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t')");
    sql(fixture->conn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE"
                       " application_name LIKE 'outbox-relay/%%' AND datname = current_database()");
    process_wait(&relay);
    assert_int_equal(relay.status, 3);
    assert_says(relay.err, "has schema 3, made by a newer outbox-relay");
    process_free(&relay);
}
