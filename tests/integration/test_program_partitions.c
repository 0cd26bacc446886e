/*
 * on_sent = "position" with partitions: made ahead, and dropped when their rows were sent long ago.
 */
#include "integration/position_rows.h"

#include <signal.h>

static void configure_with(struct fixture *fixture, const char *outbox)
{
    write_relay_toml(fixture,
                     "[outbox]\non_sent = \"position\"\nslices = 4\n%s\n[relay]\n"
                     "poll_interval = \"100ms\"\nbatch = 100\n" STDOUT_SINK "\n",
                     outbox);
}

/* An outbox of three partitions of 1,000 ids and a default one. */
static int set_up_partitions(void **state)
{
    struct fixture *fixture;

    (void)fixture_open_empty(state);
    fixture = *state;
    configure_with(fixture, "");
    expect_run(fixture, 0, "init", "--partitions", "1000");
    sql(fixture->conn, "SET client_min_messages = warning");
    return 0;
}

FIXTURE(set_up_partitions, fixture_close)

/* What was sent until now was sent two hours ago. */
static void make_old(PGconn *conn)
{
    sql(conn, "UPDATE outbox_progress SET settled_at = settled_at - interval '2 h'");
}

#define PARTITION(name)                                                                            \
    "SELECT count(*) FROM pg_inherits WHERE inhrelid = to_regclass('outbox_" name "')"
#define AHEAD                                                                                      \
    "SELECT count(*) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE"               \
    " substring(pg_get_expr(relpartbound, c.oid) FROM 'FROM \\(''(\\d+)')::bigint >"               \
    " (SELECT last_value FROM outbox_id_seq)"

/* Purges until so many rows are gone, and nothing is left of what is counted. A partition that
 * somebody uses at the moment, such as VACUUM, is left to the next purge. */
static void purge_until(struct fixture *fixture, int rows, const char *nothing)
{
    int64_t deadline_ms = harness_now_ms() + 60000;
    int purged = 0;
    int once;

    do {
        expect_run(fixture, 0, "purge", "--older-than", "1h");
        assert_int_equal(sscanf(fixture->process.out, "purged %d\n", &once), 1);
        purged += once;
    } while ((purged < rows || sql_number(fixture->conn, "%s", nothing) != 0) &&
             harness_now_ms() < deadline_ms);
    assert_int_equal(purged, rows);
    assert_number(fixture->conn, 0, "%s", nothing);
}

static void purge(struct fixture *fixture, int rows)
{
    purge_until(fixture, rows, "SELECT 0");
}

FIXTURE_TEST(partitions_whose_rows_were_sent_long_ago_are_dropped_and_no_others)
{
    insert_rows(fixture->conn, 1, 2400);
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) VALUES ('', 'dead', '1')");
    sql(fixture->conn, "SELECT setval('outbox_id_seq', 1)");
    drain_printed(fixture, 1);
    make_old(fixture->conn);
    purge(fixture, 0); /* not all of their ids were drawn, says the sequence */
    sql(fixture->conn, "SELECT setval('outbox_id_seq', 2401)");
    expect_run(fixture, 0, "purge", "--older-than", "1h", "--dry-run");
    assert_string_equal(fixture->process.out, "would purge 1999\n");
    purge_until(fixture, 1999, PARTITION("p0"));
    purge_until(fixture, 0, PARTITION("p1000"));
    assert_number(fixture->conn, 1, PARTITION("p2000"));
    assert_number(fixture->conn, 401, "SELECT count(*) FROM outbox");
    insert_rows(fixture->conn, 2401, 1000); /* beyond all partitions, too */
    drain_printed(fixture, 1);
    assert_printed(fixture, 3400);
    make_old(fixture->conn);
    purge(fixture, 1401); /* also those of the default one */
    insert_rows(fixture->conn, 3401, 1);
    drain_printed(fixture, 1);
    assert_printed(fixture, 3401);
}

FIXTURE_TEST(a_row_that_is_committed_late_keeps_its_partition_until_it_was_sent_long_ago)
{
    PGconn *slow = harness_connect(fixture->url);

    sql(slow, "BEGIN; SAVEPOINT a");
    insert_rows(slow, 1, 2);
    sql(slow, "RELEASE a");
    insert_rows(fixture->conn, 3, 2400);
    drain_printed(fixture, 0);
    make_old(fixture->conn);
    purge(fixture, 1000); /* the second partition is empty now */
    assert_number(fixture->conn, 1, PARTITION("p1000"));
    sql(slow, "COMMIT");
    purge_until(fixture, 0, PARTITION("p1000"));
    assert_number(fixture->conn, 1, PARTITION("p0"));
    drain_printed(fixture, 0);
    assert_number(fixture->conn, 2402, "SELECT count(DISTINCT line->>'id') FROM printed");
    purge(fixture, 0);
    make_old(fixture->conn);
    purge_until(fixture, 999, PARTITION("p0"));
    PQfinish(slow);
}

FIXTURE_TEST(a_row_that_cannot_be_parked_keeps_its_partition)
{
    sql(fixture->conn, "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS"
                       " 'BEGIN RAISE EXCEPTION ''kept''; END';"
                       " CREATE TRIGGER keep BEFORE DELETE ON outbox FOR EACH ROW WHEN"
                       " (OLD.topic = '') EXECUTE FUNCTION keep();"
                       " INSERT INTO outbox (topic, key, payload) VALUES ('', 'kept', '0')");
    insert_rows(fixture->conn, 1, 2400);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    process_await_times(&fixture->process, "\"topic\"", 2400);
    wait_for_number(fixture->conn, 1, "SELECT count(*) FROM outbox_parked WHERE state = 'refused'");
    process_stop(&fixture->process, SIGTERM);
    make_old(fixture->conn);
    purge_until(fixture, 1000, PARTITION("p1000"));
    assert_number(fixture->conn, 1, "SELECT min(id) FROM outbox");
}

FIXTURE_TEST(an_insert_that_has_drawn_its_id_finds_its_partition)
{
    PGconn *slow = harness_connect(fixture->url);

    sql(fixture->conn, "CREATE FUNCTION waits() RETURNS jsonb LANGUAGE sql VOLATILE AS"
                       " 'SELECT pg_advisory_xact_lock(1); SELECT ''0''::jsonb'");
    sql(fixture->conn, "SELECT pg_advisory_lock(1)");
    assert_true(PQsendQuery(slow, "INSERT INTO outbox (topic, key, payload) VALUES"
                                  " ('t', 'slow', waits())"));
    wait_for_number(fixture->conn, 1,
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                    " AND objid = 1");
    insert_rows(fixture->conn, 1, 2400);
    drain_printed(fixture, 0);
    make_old(fixture->conn);
    purge(fixture, 1998); /* by emptying them */
    assert_number(fixture->conn, 1, PARTITION("p0"));
    sql(fixture->conn, "SELECT pg_advisory_unlock(1)");
    PQclear(PQgetResult(slow));
    assert_number(fixture->conn, 1, "SELECT min(id) FROM outbox");
    purge(fixture, 0);
    drain_printed(fixture, 0);
    assert_printed(fixture, 2401);
    PQfinish(slow);
}

FIXTURE_TEST(whoever_holds_the_outbox_is_not_waited_for_and_no_insert_waits_for_a_drop)
{
    PGconn *reader = harness_connect(fixture->url);
    struct process purging = {0};

    insert_rows(fixture->conn, 1, 2400);
    drain_printed(fixture, 0);
    make_old(fixture->conn);
    sql(reader, "BEGIN; SELECT count(*) FROM outbox");
    process_start(&purging, NULL, "purge", "--older-than", "1h", "-c", fixture->config, NULL);
    sql(fixture->conn, "SET lock_timeout = '3s'"); /* would the drop wait, it would for ever */
    for (int i = 0; i < 300; i++)
        insert_rows(fixture->conn, 2401 + i, 1);
    process_wait(&purging);
    assert_int_equal(purging.status, 0);
    assert_string_equal(purging.out, "purged 0\n");
    process_free(&purging);
    sql(reader, "COMMIT");
    purge(fixture, 1999);
    drain_printed(fixture, 0);
    assert_printed(fixture, 2700);
    PQfinish(reader);
}

FIXTURE_TEST(a_purge_that_waits_for_another_one_to_drop_partitions_keeps_no_slice_from_lanes)
{
    PGconn *other = harness_connect(fixture->url);
    struct process purging = {0};

    insert_rows(fixture->conn, 1, 2400);
    drain_printed(fixture, 0);
    make_old(fixture->conn);
    sql(other, "BEGIN; SELECT pg_advisory_xact_lock(7246116, 'outbox'::regclass::oid::int)");
    process_start(&purging, NULL, "purge", "--older-than", "1h", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1,
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                    " AND classid = 7246116");
    sql(fixture->conn, "BEGIN; SELECT FROM outbox_slice FOR UPDATE NOWAIT; COMMIT");
    process_wait(&purging);
    assert_int_equal(purging.status, 0);
    assert_string_equal(purging.out, "purged 0\n");
    process_free(&purging);
    sql(other, "COMMIT");
    purge(fixture, 1999);
    PQfinish(other);
}

FIXTURE_TEST(relays_make_partitions_ahead_of_the_ids_also_when_these_jump_and_drop_those_behind)
{
    struct process other = {0};

    configure_with(fixture, "retention = \"10s\""); /* a round a second */
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    process_start(&other, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&fixture->process, "relaying from");
    process_await_words(&other, "relaying from");
    for (int i = 0; i < 24; i++)
        insert_rows(fixture->conn, 1 + i * 100, 100);
    wait_for_number(fixture->conn, 1, "SELECT ((" AHEAD ") >= 3)::int");
    sql(fixture->conn, "SELECT setval('outbox_id_seq', 500000)");
    insert_rows(fixture->conn, 2401, 10);
    wait_for_number(fixture->conn, 1, "SELECT ((" AHEAD ") >= 3)::int");
    assert_number(fixture->conn, 10, "SELECT count(*) FROM outbox_default");
    sql(fixture->conn, "SELECT setval('outbox_id_seq', 502500)");
    insert_rows(fixture->conn, 2411, 10);
    assert_number(fixture->conn, 10, "SELECT count(*) FROM outbox_default");
    wait_for_number(fixture->conn, 0, PARTITION("p0"));
    process_stop(&other,
                 SIGTERM); /* on a busy machine two rarely leave the table alone for 0.1 s */
    wait_for_number(fixture->conn, 0, PARTITION("p2000"));
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox_default");
    process_stop(&fixture->process, SIGTERM);
    load_printed(fixture, fixture->process.out);
    load_printed(fixture, other.out);
    assert_number(fixture->conn, 2420, "SELECT count(*) FROM printed");
    assert_number(fixture->conn, 2420, "SELECT count(DISTINCT line->>'id') FROM printed");
    if (strstr(other.err, "level=error") != NULL)
        fail_msg("%s", other.err);
    assert_null(strstr(other.err, "begin anew"));
    process_free(&other);
}

FIXTURE_TEST(a_partition_that_was_detached_is_sent_once_it_is_attached_again)
{
    struct process check = {0};

    insert_rows(fixture->conn, 1, 500);
    drain_printed(fixture, 0);
    insert_rows(fixture->conn, 501, 200);
    sql(fixture->conn, "ALTER TABLE outbox DETACH PARTITION outbox_p0;"
                       " SELECT setval('outbox_id_seq', 1500)");
    process_free(&fixture->process);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&fixture->process, "sent once it is attached again");
    for (int i = 0; i < 3; i++) { /* also while a relay runs; the rows of a key go on */
        insert_rows(fixture->conn, 701 + 300 * i, 300);
        process_await_times(&fixture->process, "\"topic\"", 300 * (i + 1) + 200 * (i > 0));
        if (i == 1)
            sql(fixture->conn, "ALTER TABLE outbox DETACH PARTITION outbox_p0");
        if (i == 1)
            process_await_times(&fixture->process, "is no longer one of the outbox", 2);
        if (i != 0)
            continue;
        assert_int_equal(process_run(&check, NULL, "check", "-c", fixture->config, NULL), 0);
        assert_says(check.out, "was detached from the outbox at ");
        process_free(&check);
        sql(fixture->conn,
            "ALTER TABLE outbox ATTACH PARTITION outbox_p0 FOR VALUES FROM (0) TO (1000)");
        process_await_words(&fixture->process, "what was not sent before is sent now");
        process_await_times(&fixture->process, "\"topic\"", 500);
    }
    sql(fixture->conn,
        "ALTER TABLE outbox ATTACH PARTITION outbox_p0 FOR VALUES FROM (0) TO (1000)");
    process_await_times(&fixture->process, "what was not sent before is sent now", 2);
    sql(fixture->conn, "DROP TABLE outbox_p0");
    process_await_words(&fixture->process, "what was not sent of it is gone");
    process_stop(&fixture->process, SIGTERM);
    load_printed(fixture, fixture->process.out);
    assert_number(fixture->conn, 1600, "SELECT count(*) FROM printed");
    assert_number(fixture->conn, 1600, "SELECT count(DISTINCT line->>'id') FROM printed");
}

/* The second half of the rows of p0 comes while it is detached, and more is sent meanwhile. */
static void attach_with_unsent_rows(struct fixture *fixture)
{
    insert_rows(fixture->conn, 1, 500);
    drain_printed(fixture, 0);
    insert_rows(fixture->conn, 501, 200);
    sql(fixture->conn, "ALTER TABLE outbox DETACH PARTITION outbox_p0;"
                       " SELECT setval('outbox_id_seq', 1500)");
    insert_rows(fixture->conn, 701, 300);
    drain_printed(fixture, 0);
    make_old(fixture->conn);
    sql(fixture->conn,
        "ALTER TABLE outbox ATTACH PARTITION outbox_p0 FOR VALUES FROM (0) TO (1000)");
}

TEST(a_purge_keeps_the_unsent_rows_of_a_partition_that_is_attached_again_while_no_relay_runs)
{
    struct fixture *fixture = *state;

    attach_with_unsent_rows(fixture);
    purge(fixture, 0);
    assert_number(fixture->conn, 1, PARTITION("p0"));
    drain_printed(fixture, 0);
    assert_number(fixture->conn, 1000, "SELECT count(*) FROM printed");
    assert_number(fixture->conn, 1000, "SELECT count(DISTINCT line->>'id') FROM printed");
}

FIXTURE_TEST(rows_that_are_purged_one_by_one_are_judged_after_their_partition_was_noted)
{
    sql(fixture->conn, "CREATE VIEW recent AS SELECT * FROM outbox_p0");
    attach_with_unsent_rows(fixture);
    purge(fixture, 0);
    drain_printed(fixture, 0);
    assert_number(fixture->conn, 1000, "SELECT count(*) FROM printed");
    assert_number(fixture->conn, 1000, "SELECT count(DISTINCT line->>'id') FROM printed");
    make_old(fixture->conn);
    purge_until(fixture, 700, "SELECT count(*) FROM recent");
}

FIXTURE_TEST(rows_that_were_sent_are_not_sent_again_after_a_restore_into_another_cluster)
{
    insert_rows(fixture->conn, 1, 2400);
    drain_printed(fixture, 0);
    insert_rows(fixture->conn, 2401, 5);
    drain_printed(fixture, 0); /* now the first 2,400 lie below the low ids */
    insert_rows(fixture->conn, 2406, 5);
    make_old(fixture->conn);
    sql(fixture->conn, /* what a restore changes: the identity and the partitions' numbers */
        "UPDATE outbox_control SET value = regexp_replace(value, '^\\S+ (\\S+) \\S+',"
        " '1 \\1 7000000000000000001') WHERE name = 'position';"
        " UPDATE outbox_control SET name = 'partition 9' || substr(name, 11)"
        " WHERE name ~ '^partition [0-9]'");
    purge(fixture, 0); /* no relay has begun the positions anew */
    drain_printed(fixture, 0);
    assert_true(sql_number(fixture->conn, "SELECT count(*) FROM printed") <= 2415);
    assert_number(fixture->conn, 2410, "SELECT count(DISTINCT line->>'id') FROM printed");
    insert_rows(fixture->conn, 2411, 5);
    drain_printed(fixture, 0);
    assert_number(fixture->conn, 2415, "SELECT count(DISTINCT line->>'id') FROM printed");
    assert_number(fixture->conn, 4,
                  "SELECT count(*) FROM outbox_control WHERE"
                  " name ~ '^partition [0-9]'");
}

FIXTURE_TEST(a_partition_that_a_foreign_key_or_a_view_needs_is_purged_row_by_row_and_named)
{
    sql(fixture->conn, "CREATE VIEW recent AS SELECT * FROM outbox_p0");
    insert_rows(fixture->conn, 1, 2400);
    drain_printed(fixture, 0);
    make_old(fixture->conn);
    purge_until(fixture, 1999, PARTITION("p1000"));
    assert_number(fixture->conn, 1, PARTITION("p0"));
    expect(fixture, run_command(fixture, "check"), 0);
    assert_says(fixture->process.out, "recent needs partition \"public\".\"outbox_p0\"");
    sql(fixture->conn, "DROP VIEW recent; CREATE TABLE child (id bigint REFERENCES outbox (id))");
    insert_rows(fixture->conn, 2401, 1000);
    drain_printed(fixture, 0);
    make_old(fixture->conn);
    purge_until(fixture, 1401, "SELECT count(*) FROM outbox");
    assert_number(fixture->conn, 1, PARTITION("p2000"));
    expect(fixture, run_command(fixture, "check"), 0);
    assert_says(fixture->process.out, "foreign key child_id_fkey of ");
}

FIXTURE_TEST(while_a_transaction_reads_the_outbox_relays_go_on_and_say_that_partitions_become_few)
{
    struct process other = {0};
    PGconn *reader = harness_connect(fixture->url);

    sql(fixture->conn, "ALTER TABLE outbox DETACH PARTITION outbox_p2000"); /* a name is taken */
    insert_rows(fixture->conn, 1, 999);
    configure_with(fixture, "retention = \"10s\""); /* a round a second */
    sql(reader, "BEGIN; SELECT count(*) FROM outbox");
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    process_await_times(&fixture->process, "\"topic\"", 999);
    process_await_words(&fixture->process, "no partition can be made while transactions use");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            process_run(&other, NULL, i == 0 ? "check" : "status", "-c", fixture->config, NULL), 0);
        assert_says(other.out, "come to the end of ");
        process_free(&other);
    }
    sql(reader, "COMMIT");
    wait_for_number(fixture->conn, 1, PARTITION("p2000_1"));
    wait_for_number(fixture->conn, 1, "SELECT ((" AHEAD ") >= 3)::int");
    insert_rows(fixture->conn, 1000, 1500);
    process_await_times(&fixture->process, "\"topic\"", 2499);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_default");
    process_stop(&fixture->process, SIGTERM);
    PQfinish(reader);
}

TEST(rows_at_the_same_place_of_two_partitions_are_parked_explained_and_sent_again_by_their_ids)
{
    struct fixture *fixture = *state;

    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload) SELECT CASE i %% 1000 WHEN 7 THEN '' ELSE 't'"
        " END, 'k' || i, to_jsonb(i) FROM generate_series(1, 2400) i");
    sql(fixture->conn, "INSERT INTO outbox (id, topic, key, payload) OVERRIDING SYSTEM VALUE VALUES"
                       " (2500, '', 'x', '1')"); /* a place of which there is one */
    drain_printed(fixture, 1);
    assert_printed(fixture, 2397);
    assert_number(fixture->conn, 4,
                  "SELECT count(*) FROM outbox_parked WHERE state ="
                  " 'dead' AND id IN (7, 1007, 2007, 2500)");
    assert_number(fixture->conn, 2397, "SELECT count(*) FROM outbox");
    expect_run(fixture, 0, "explain", "1000", "1001", "2000");
    assert_says(fixture->process.out, "1000, sent");
    assert_says(fixture->process.out, "k2000");
    expect_run(fixture, 0, "replay", "1001", "2001");
    sql(fixture->conn, "DELETE FROM printed");
    drain_printed(fixture, 1);
    assert_number(fixture->conn, 2,
                  "SELECT count(*) FROM printed WHERE line->>'key' IN"
                  " ('k1001', 'k2001')");
    assert_number(fixture->conn, 2, "SELECT count(*) FROM printed");
}

FIXTURE_TEST(a_role_that_does_not_own_the_outbox_purges_its_rows_and_is_told_what_it_lacks)
{
    char role[80];

    (void)snprintf(role, sizeof role, "relay_%s", fixture->name);
    make_role(fixture, role);
    insert_rows(fixture->conn, 1, 2400);
    log_in_as(fixture, role);
    configure_with(fixture, "");
    drain_printed(fixture, 0);
    make_old(fixture->conn);
    purge(fixture, 2400);
    assert_number(fixture->conn, 1, PARTITION("p0"));
    expect(fixture, run_command(fixture, "check"), 0);
    assert_says(fixture->process.out, "does not own partition");
    assert_says(fixture->process.out, "fix: GRANT \"");
    sql(fixture->conn, "DROP OWNED BY %s; DROP ROLE %s", role, role);
}

FIXTURE_TEST(partitions_that_others_make_are_used_and_dropped_and_their_end_is_foretold)
{
    sql(fixture->conn,
        "DROP TABLE outbox_default, outbox_p1000;"
        " SELECT set_config('role', pg_get_userbyid(relowner), false) FROM pg_class WHERE oid ="
        " 'outbox'::regclass;"
        " CREATE TABLE \"Mine\" PARTITION OF outbox FOR VALUES FROM (1000) TO (1500);"
        " DELETE FROM outbox_control WHERE name = 'partition rows'");
    insert_rows(fixture->conn, 1, 1499);
    sql(fixture->conn, "SELECT setval('outbox_id_seq', 2000)");
    insert_rows(fixture->conn, 1500, 999);
    drain_printed(fixture, 0);
    assert_printed(fixture, 2498);
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "have run ahead of its partitions, which end at 3000: each"
                                      " INSERT fails");
    assert_says(fixture->process.out, "relays make no partitions of");
    expect(fixture, run_command(fixture, "status"), 0);
    assert_says(fixture->process.out, "each INSERT fails");
    make_old(fixture->conn);
    purge_until(fixture, 2498,
                "SELECT count(*) FROM pg_inherits WHERE inhparent ="
                " 'outbox'::regclass");
}

FIXTURE_TEST(the_number_of_slices_of_a_partitioned_outbox_can_be_changed)
{
    insert_rows(fixture->conn, 1, 1500);
    drain_printed(fixture, 0);
    write_relay_toml(fixture, "[outbox]\non_sent = \"position\"\nslices = 8\n" STDOUT_SINK "\n");
    init_existing(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
    insert_rows(fixture->conn, 1501, 700);
    drain_printed(fixture, 0);
    assert_printed(fixture, 2200);
}

FIXTURE_TEST(partitions_are_refused_where_they_cannot_be)
{
    expect_run(fixture, 2, "init", "--partitions", "1000", "--order-trigger");
    assert_says(fixture->process.err, "chooses the partition before triggers run");
    expect_run(fixture, 0, "init", "--partitions", "2000");
    assert_number(fixture->conn, 2000,
                  "SELECT value::int FROM outbox_control WHERE name ="
                  " 'partition rows'");
    write_relay_toml(fixture, "[outbox]\nslices = 4\n" STDOUT_SINK "\n");
    expect(fixture, run_drain(fixture), 3);
    assert_says(fixture->process.err, "only with on_sent = \"position\"");
    sql(fixture->conn, "CREATE TABLE parts (id bigint, topic text) PARTITION BY LIST (topic)");
    write_relay_toml(fixture, "[outbox]\ntable = \"parts\"\non_sent = \"position\"\n" STDOUT_SINK);
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "partitions by RANGE of the id alone");
}
