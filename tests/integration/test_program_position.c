/*
 * on_sent = "position": rows are never touched, the position of a slice says what is sent.
 */
#include "integration/position_rows.h"

#include <signal.h>

#define BY_POSITION "on_sent = \"position\"\nslices = 4\n"

static void write_position_config(struct fixture *fixture, const char *outbox, const char *rest)
{
    write_relay_toml(fixture,
                     "[outbox]\n%s\n[relay]\npoll_interval = \"20ms\"\nbatch = 20\n"
                     "[retry]\nbackoff = \"20ms\"\nbackoff_max = \"100ms\"\n%s\n",
                     outbox, rest);
}

static void configure_position(struct fixture *fixture)
{
    write_position_config(fixture, BY_POSITION, STDOUT_SINK);
}

static int set_up_position(void **state)
{
    return fixture_open(state, configure_position);
}

FIXTURE(set_up_position, fixture_close)

static void start_relay(struct fixture *fixture)
{
    process_free(&fixture->process);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&fixture->process, "relaying from");
}

static void stop_relay(struct fixture *fixture)
{
    process_stop(&fixture->process, SIGTERM);
    expect(fixture, fixture->process.status, 0);
    load_printed(fixture, fixture->process.out);
}

static void assert_sql_error(PGconn *conn, const char *statement)
{
    PGresult *result = PQexec(conn, statement);

    assert_int_equal(PQresultStatus(result), PGRES_FATAL_ERROR);
    PQclear(result);
}

#define UNPASSED                                                                                   \
    "SELECT count(*) FROM outbox o WHERE NOT EXISTS (SELECT FROM outbox_progress p WHERE"          \
    " p.slice = mod(hashtext(coalesce(o.key, o.id::text)) & 2147483647, 4) AND p.top >= o.id"      \
    " AND (o.id < p.low OR EXISTS (SELECT FROM unnest(p.ends, p.snapshots) s (last, seen)"         \
    " WHERE o.id <= last AND pg_visible_in_snapshot(o.xid, seen))))"

FIXTURE_TEST(sent_rows_are_not_touched_and_each_is_sent_once)
{
    insert_rows(fixture->conn, 1, 300);
    drain_printed(fixture, 0);
    insert_rows(fixture->conn, 301, 5);
    drain_printed(fixture, 0);
    drain_printed(fixture, 0);
    assert_printed(fixture, 305);
    assert_number(fixture->conn, 305,
                  "SELECT count(*) FROM outbox WHERE sent_at IS NULL"
                  " AND xmax = 0");
    assert_number(fixture->conn, 0, UNPASSED);
}

/* Entries of the outbox's indexes, and rows, that sessions have read before they ended. */
static long rows_read(struct fixture *fixture)
{
    return sql_number(fixture->conn,
                      "SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname ="
                      " 'outbox') + (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname ="
                      " 'outbox')");
}

FIXTURE_TEST(sent_rows_that_stay_are_not_read_again)
{
    enum { KEPT = 20000, MORE = 40 };

    struct process status;
    long before;

    insert_rows(fixture->conn, 1, KEPT);
    drain_printed(fixture, 0);
    insert_rows(fixture->conn, KEPT + 1, 1);
    drain_printed(fixture, 0);
    sql(fixture->conn, "VACUUM ANALYZE outbox");
    before = rows_read(fixture);
    start_relay(fixture);
    for (int more = 1; more <= MORE; more++) {
        insert_rows(fixture->conn, KEPT + 1 + more, 1);
        process_await_times(&fixture->process, "\"topic\"", more);
    }
    (void)process_run(&status, NULL, "status", "-c", fixture->config, NULL);
    assert_int_equal(status.status, 0);
    process_free(&status);
    stop_relay(fixture);
    assert_true(rows_read(fixture) - before < KEPT);
}

FIXTURE_TEST(rows_that_are_committed_late_are_sent_after_the_position_has_passed_their_ids)
{
    PGconn *slow = harness_connect(fixture->url);
    PGconn *prepared = harness_connect(fixture->url);

    sql(slow, "BEGIN; SAVEPOINT a");
    sql(slow, "INSERT INTO outbox (topic, key, payload) VALUES ('t', 'slow', '1')");
    sql(slow, "RELEASE a; SAVEPOINT b");
    sql(slow, "INSERT INTO outbox (topic, key, payload) VALUES ('t', 'gone', '1')");
    sql(slow, "ROLLBACK TO b");
    sql(prepared, "BEGIN");
    sql(prepared, "INSERT INTO outbox (topic, key, payload) VALUES ('t', 'prepared', '1')");
    sql(prepared, "PREPARE TRANSACTION 'position'");
    insert_rows(fixture->conn, 1, 200);
    start_relay(fixture);
    wait_for_number(fixture->conn, 1, "SELECT (count(*) >= 4)::int FROM outbox_progress");
    wait_for_number(fixture->conn, 0, UNPASSED);
    sql(slow, "COMMIT");
    insert_rows(fixture->conn, 201, 200);
    sql(prepared, "COMMIT PREPARED 'position'");
    wait_for_number(fixture->conn, 0, UNPASSED);
    stop_relay(fixture);
    assert_printed(fixture, 402);
    PQfinish(slow);
    PQfinish(prepared);
}

FIXTURE_TEST(ids_that_begin_anew_hide_no_row)
{
    static const char *const changes[] = {
        "TRUNCATE outbox RESTART IDENTITY",
        "DELETE FROM outbox; ALTER SEQUENCE outbox_id_seq RESTART",
        "DELETE FROM outbox; SELECT setval('outbox_id_seq', 1, false)",
    };
    int sent = 100;

    insert_rows(fixture->conn, 1, 100);
    drain_printed(fixture, 0);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) { /* while no relay runs */
        sql(fixture->conn, "%s", changes[i]);
        insert_rows(fixture->conn, sent + 1, 150); /* beyond the old position */
        sent += 150;
        sql(fixture->conn, "UPDATE outbox_progress SET settled_at = settled_at - interval '9 d'");
        expect_run(fixture, 0, "purge", "--older-than", "7d");
        assert_number(fixture->conn, 150, "SELECT count(*) FROM outbox");
        drain_printed(fixture, 0);
        assert_printed(fixture, sent);
    }
    start_relay(fixture);
    for (size_t i = 0; i < 3; i++) { /* while one runs */
        sql(fixture->conn, "%s", i < 2 ? changes[i] : "VACUUM FULL outbox");
        insert_rows(fixture->conn, sent + 1 + (int)i * 100, 100);
        process_await_times(&fixture->process, "\"topic\"", 100 * ((int)i + 1));
    }
    stop_relay(fixture);
    assert_printed(fixture, sent + 300);
}

/* A setval changes no file node, and the table may be empty when a relay looks. */
FIXTURE_TEST(a_sequence_that_is_set_back_hides_no_row)
{
    static const char *const changes[] = {"setval('outbox_id_seq', 1, false)",
                                          "setval('outbox_id_seq', 1)",
                                          "setval('outbox_id_seq', 20, false)"};
    int sent = 200;
    int before;

    insert_rows(fixture->conn, 1, 100);
    drain_printed(fixture, 0);
    insert_rows(fixture->conn, 101, 100); /* now the low ids rise */
    drain_printed(fixture, 0);
    for (size_t i = 0; i < 3; i++) { /* while no relay runs */
        sql(fixture->conn, "DELETE FROM outbox; SELECT %s", changes[i]);
        drain_printed(fixture, 0);                            /* there is no row to see */
        for (int steps = 0; steps < 3; steps++, sent += 80) { /* beyond the old position */
            insert_rows(fixture->conn, sent + 1, 80);
            drain_printed(fixture, 0);
        }
    }
    before = sent;
    start_relay(fixture);
    for (int i = 0; i < 3; i++) { /* while one runs, which has seen that ids were drawn */
        do {
            insert_rows(fixture->conn, sent + 1, 80);
            sent += 80;
            process_await_times(&fixture->process, "\"topic\"", sent - before);
        } while (sql_number(fixture->conn, "SELECT max(low) FROM outbox_progress") < 22);
        sql(fixture->conn, "DELETE FROM outbox; SELECT %s", changes[i]);
        process_await_times(&fixture->process, "each slice is read", i + 1);
    }
    insert_rows(fixture->conn, sent + 1, 80);
    process_await_times(&fixture->process, "\"topic\"", sent + 80 - before);
    stop_relay(fixture);
    assert_printed(fixture, sent + 80);
}

FIXTURE_TEST(a_row_that_fails_is_parked_and_its_neighbours_are_passed)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) SELECT CASE i WHEN 10 THEN '' ELSE"
                       " 't' END, 'k' || i %% 7, to_jsonb(i) FROM generate_series(1, 100) i");
    drain_printed(fixture, 1);
    assert_number(fixture->conn, 86, "SELECT count(*) FROM printed WHERE line->>'key' <> 'k3'");
    assert_number(fixture->conn, 10, "SELECT id FROM outbox_parked WHERE state = 'dead'");
    expect_run(fixture, 0, "dead", "drop", "--all");
    drain_printed(fixture, 0);
    assert_printed(fixture, 99);
}

FIXTURE_TEST(a_row_that_cannot_be_parked_holds_up_its_key_alone_and_is_not_lost)
{
    sql(fixture->conn, "CREATE TABLE refers (id bigint REFERENCES outbox)");
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) SELECT CASE i WHEN 3 THEN '' ELSE"
                       " 't' END, 'k' || i %% 50, to_jsonb(i) FROM generate_series(1, 100) i;"
                       " INSERT INTO refers VALUES (3)");
    start_relay(fixture);
    wait_for_number(fixture->conn, 0, UNPASSED);
    insert_rows(fixture->conn, 101, 100);
    wait_for_number(fixture->conn, 0, UNPASSED);
    stop_relay(fixture);
    assert_number(fixture->conn, 183,
                  "SELECT count(DISTINCT line->>'id') FROM printed"); /* row 53 and 15 later ones of
                                                                         its key wait for row 3 */
    assert_number(fixture->conn, 183, "SELECT count(*) FROM printed");
    assert_number(fixture->conn, 3, "SELECT id FROM outbox_parked WHERE state = 'refused'");
    sql(fixture->conn, "UPDATE outbox_progress SET settled_at = settled_at - interval '9 d'");
    expect_run(fixture, 0, "purge", "--older-than", "1h");
    expect_run(fixture, 0, "explain", "3");
    assert_says(fixture->process.out, "refused");
    sql(fixture->conn, "DELETE FROM refers; UPDATE outbox_parked SET due = now() WHERE id = 3");
    drain_printed(fixture, 1);
    assert_number(fixture->conn, 3, "SELECT id FROM outbox_parked WHERE state = 'dead'");
    assert_number(fixture->conn, 183, "SELECT count(*) FROM printed");
}

FIXTURE_TEST(a_row_that_cannot_be_read_is_locked_until_it_is_parked)
{
    write_position_config(fixture,
                          BY_POSITION "[outbox.columns]\npayload = \"(public.shown(payload))\"",
                          STDOUT_SINK);
    sql(fixture->conn,
        "CREATE FUNCTION public.shown(jsonb) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$ BEGIN"
        " IF $1 = '\"bad\"' THEN RAISE EXCEPTION 'locked: %%', (SELECT xmax::text::int8 >="
        " pg_current_xact_id()::text::int8 FROM public.outbox WHERE payload = $1);"
        " END IF; RETURN $1; END $$");
    insert_rows(fixture->conn, 1, 20);
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) VALUES ('t', 'bad', '\"bad\"')");
    drain_printed(fixture, 1);
    assert_number(fixture->conn, 1,
                  "SELECT (error LIKE '%%locked: t')::int FROM"
                  " outbox_parked WHERE state = 'dead'");
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) VALUES ('t', 'b', '\"bad\"');"
                       " CREATE TABLE refers (id bigint REFERENCES outbox);"
                       " INSERT INTO refers SELECT id FROM outbox WHERE key = 'b'");
    drain_printed(fixture, 1);
    assert_number(fixture->conn, 1, "SELECT count(*) FROM outbox_parked WHERE state = 'refused'");
    sql(fixture->conn, "DROP TABLE refers; UPDATE outbox_parked SET due = now() WHERE key = 'b'");
    drain_printed(fixture, 1);
    assert_number(fixture->conn, 2, "SELECT count(*) FROM outbox_parked WHERE state = 'dead'");
    assert_printed(fixture, 20);
}

FIXTURE_TEST(rows_that_cannot_be_parked_are_sent_when_their_topic_is_resumed)
{
    struct process command = {0};

    sql(fixture->conn, "CREATE TABLE refers (id bigint REFERENCES outbox)");
    expect_run(fixture, 0, "pause", "topic", "p");
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload) SELECT CASE i %% 10 WHEN 3 THEN 'p' ELSE"
        " 't' END, 'k' || i %% 7, to_jsonb(i) FROM generate_series(1, 100) i;"
        " INSERT INTO refers SELECT id FROM outbox WHERE topic = 'p'");
    start_relay(fixture);
    wait_for_number(fixture->conn, 0, UNPASSED);
    wait_for_number(fixture->conn, 1,
                    "SELECT (count(*) > 0)::int FROM outbox_parked WHERE state = 'refused'");
    assert_int_equal(
        process_run(&command, NULL, "resume", "topic", "p", "-c", fixture->config, NULL), 0);
    process_free(&command);
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked WHERE sent_at IS NULL");
    stop_relay(fixture);
    assert_printed(fixture, 100);
    assert_number(fixture->conn, 1,
                  "SELECT (count(*) > 0)::int FROM outbox WHERE topic"
                  " = 'p' AND sent_at IS NOT NULL");
    sql(fixture->conn, "DROP TABLE refers");
    expect_run(fixture, 0, "replay", "3");
    drain_printed(fixture, 0);
    assert_number(fixture->conn, 101, "SELECT count(*) FROM printed");
}

FIXTURE_TEST(a_subscription_keeps_relays_from_starting)
{
    int status;

    sql(fixture->conn, "INSERT INTO pg_subscription_rel (srsubid, srrelid, srsubstate) VALUES (1,"
                       " 'outbox'::regclass, 'r')");
    status = run_drain(fixture);
    sql(fixture->conn, "DELETE FROM pg_subscription_rel WHERE srsubid = 1");
    expect(fixture, status, 3);
    assert_says(fixture->process.err, "cannot be the target of a subscription");
}

FIXTURE_TEST(rows_of_a_sink_that_is_away_are_parked_and_leave_in_order_when_it_is_back)
{
    char sinks[512];

    (void)snprintf(sinks, sizeof sinks,
                   "[sink.out]\ntype = \"stdout\"\n[sink.other]\ntype = \"nats\"\nservers ="
                   " [\"nats://127.0.0.1:%d\"]\nstream = \"NONE\"\nallow = [\"o.>\"]\n"
                   "[[route]]\nmatch = \"o.>\"\nsink = \"other\"\n"
                   "[[route]]\nmatch = \">\"\nsink = \"out\"",
                   harness_free_port());
    write_position_config(fixture, BY_POSITION, sinks);
    start_relay(fixture);
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload) SELECT CASE i / 4 %% 2 WHEN 0 THEN"
        " 'o.a' ELSE 't' END, 'k' || i %% 4, to_jsonb(i) FROM generate_series(1, 200)"
        " i"); /* each key has rows of both sinks */
    wait_for_number(fixture->conn, 0, UNPASSED);
    wait_for_number(
        fixture->conn, 1,
        "SELECT (count(*) FILTER (WHERE state = 'waiting') > 0)::int FROM outbox_parked");
    stop_relay(fixture);
    write_position_config(fixture, BY_POSITION,
                          "[sink.out]\ntype = \"stdout\"\n[sink.other]\ntype = \"stdout\"\n"
                          "[[route]]\nmatch = \"o.>\"\nsink = \"other\"\n"
                          "[[route]]\nmatch = \">\"\nsink = \"out\"");
    start_relay(fixture);
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked WHERE sent_at IS NULL");
    stop_relay(fixture);
    assert_number(fixture->conn, 200, "SELECT count(DISTINCT line->>'id') FROM printed");
    assert_number(fixture->conn, 200, "SELECT count(*) FROM printed");
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT (line->>'payload')::int AS payload,"
                  " lag((line->>'payload')::int) OVER (PARTITION BY line->>'key',"
                  " line->>'topic' ORDER BY place) AS before FROM printed) pairs"
                  " WHERE before > payload"); /* there is no order between two sinks */
}

FIXTURE_TEST(rows_of_a_paused_sink_are_parked_and_leave_in_order_when_it_is_resumed)
{
    struct process command = {0};

    write_position_config(fixture, BY_POSITION,
                          "[sink.out]\ntype = \"stdout\"\n[sink.other]\ntype = \"stdout\"\n"
                          "[[route]]\nmatch = \"o.>\"\nsink = \"other\"\n"
                          "[[route]]\nmatch = \">\"\nsink = \"out\"");
    expect_run(fixture, 0, "pause", "sink", "other");
    start_relay(fixture);
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload) SELECT CASE i %% 2 WHEN 0 THEN"
        " 'o.a' ELSE 't' END, 'k' || i %% 4, to_jsonb(i) FROM generate_series(1, 200)"
        " i");
    wait_for_number(fixture->conn, 100, "SELECT count(*) FROM outbox_parked");
    wait_for_number(fixture->conn, 0, UNPASSED);
    assert_int_equal(
        process_run(&command, NULL, "resume", "sink", "other", "-c", fixture->config, NULL), 0);
    process_free(&command);
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked WHERE sent_at IS NULL");
    stop_relay(fixture);
    assert_printed(fixture, 200);
}

FIXTURE_TEST(sent_rows_are_replayed_and_purged_by_when_their_slice_has_passed_them)
{
    insert_rows(fixture->conn, 1, 50);
    drain_printed(fixture, 0);
    sql(fixture->conn, "DELETE FROM printed");
    expect_run(fixture, 0, "explain", "7");
    assert_says(fixture->process.out, "sent");
    expect_run(fixture, 0, "replay", "7", "8");
    insert_rows(fixture->conn, 51, 5);
    drain_printed(fixture, 0);
    assert_number(fixture->conn, 7, "SELECT count(*) FROM printed");
    sql(fixture->conn, "UPDATE outbox_progress SET settled_at = settled_at - interval '2 h'"
                       " WHERE number = 1");
    expect_run(fixture, 0, "purge", "--older-than", "1h");
    assert_true(sql_number(fixture->conn, "SELECT count(*) FROM outbox") < 55);
    insert_rows(fixture->conn, 56, 1);
    expect_run(fixture, 0, "purge", "--older-than", "1ms");
    assert_number(fixture->conn, 1, "SELECT count(*) FROM outbox");
}

/* Of the 1,000 rows that a purge looks at together: those which the low id of their slice is not
 * above. */
#define NOT_BELOW                                                                                  \
    "SELECT count(*) FROM outbox o WHERE id <= 1000 AND id >= (SELECT low FROM outbox_progress p"  \
    " WHERE p.slice = mod(hashtext(coalesce(o.key, o.id::text)) & 2147483647, 4)"                  \
    " ORDER BY top DESC, number DESC LIMIT 1)"

FIXTURE_TEST(a_purge_keeps_the_rows_below_the_low_id_that_were_not_sent_or_were_sent_lately)
{
    int rows = 1000;
    char *purge;

    insert_rows(fixture->conn, 1, rows);
    start_relay(fixture);
    do {
        insert_rows(fixture->conn, rows + 1, 20);
        rows += 20;
        wait_for_number(fixture->conn, 0, UNPASSED);
        assert_true(rows < 10000);
    } while (sql_number(fixture->conn, NOT_BELOW) != 0);
    stop_relay(fixture);
    sql(fixture->conn, "UPDATE outbox_progress SET settled_at = settled_at - interval '2 h'");
    sql(fixture->conn, "DELETE FROM outbox WHERE id = 5;"
                       " INSERT INTO outbox (id, topic, key, payload) OVERRIDING SYSTEM VALUE"
                       " VALUES (5, 't', 'again', '5')");
    sql(fixture->conn,
        "INSERT INTO outbox_parked (id, topic, key, payload, state, error, event_id, due)"
        " SELECT id, topic, key, payload, 'refused', 'tried', event_id, now() FROM outbox"
        " WHERE id = 7");
    sql(fixture->conn, "UPDATE outbox SET sent_at = now() WHERE id = 9");
    expect_run(fixture, 0, "purge", "--older-than", "3h");
    assert_number(fixture->conn, rows, "SELECT count(*) FROM outbox");
    expect_run(fixture, 0, "sql", "purge_covered");
    purge = fixture->process.out;
    sql(fixture->conn, "PREPARE covered (int8) AS %s", purge);
    assert_number(fixture->conn, 997, "EXECUTE covered(3600000)");
    expect_run(fixture, 0, "purge", "--older-than", "1h");
    assert_number(fixture->conn, 5 + 7 + 9, "SELECT sum(id) FROM outbox");
}

FIXTURE_TEST(progress_of_before_is_thinned_in_steps)
{
    insert_rows(fixture->conn, 1, 20);
    drain_printed(fixture, 0);
    sql(fixture->conn,
        "INSERT INTO outbox_progress (slice, top, number, low, ends, snapshots, settled_at)"
        " SELECT slice, i - 20000, i - 20000, i - 20000, '{}', '{}', now() - interval '3 h' + i * interval '600 ms'"
        " FROM generate_series(0, 3) slice, generate_series(1, 12000) i");
    write_position_config(fixture, BY_POSITION "retention = \"10s\"\n", STDOUT_SINK);
    start_relay(fixture);
    wait_for_number(fixture->conn, 1,
                    "SELECT max(count) FROM (SELECT count(*) FROM outbox_progress"
                    " WHERE number < 1 GROUP BY slice UNION ALL SELECT 1) counts");
    insert_rows(fixture->conn, 21, 20);
    process_await_times(&fixture->process, "\"topic\"", 20);
    stop_relay(fixture);
    assert_printed(fixture, 40);
}

/* Row -150, which stays because another table refers to it. */
FIXTURE_TEST(a_row_that_outlives_the_retention_keeps_the_time_when_it_was_sent)
{
    sql(fixture->conn, "INSERT INTO outbox (id, topic, key, payload) OVERRIDING SYSTEM VALUE"
                       " VALUES (-150, 't', 'k', '0');"
                       " CREATE TABLE refers (id bigint REFERENCES outbox);"
                       " INSERT INTO refers VALUES (-150)");
    insert_rows(fixture->conn, 1, 20);
    drain_printed(fixture, 0);
    sql(fixture->conn,
        "INSERT INTO outbox_progress (slice, top, number, low, ends, snapshots, settled_at)"
        " SELECT slice, i - 200, i - 200, i - 200, '{}', '{}', date_trunc('hour', now()) - interval"
        " '5 h' + i * interval '30 s' FROM generate_series(0, 3) slice, generate_series(1, 100) i");
    write_position_config(fixture, BY_POSITION "retention = \"10s\"\n", STDOUT_SINK);
    start_relay(fixture);
    wait_for_number(fixture->conn, 4 * 26, /* the last of the minutes from row -150 on */
                    "SELECT count(*) FROM outbox_progress WHERE number <= -100");
    stop_relay(fixture);
    assert_number(fixture->conn, -150, "SELECT min(id) FROM outbox");
}

FIXTURE_TEST(a_table_goes_from_marks_to_positions_to_another_number_of_slices_and_back)
{
    int sent = 0;
    static const struct {
        const char *outbox;
        const char *leave;
    } steps[] = {
        {"on_sent = \"mark\"\nslices = 4\n", "DELETE FROM outbox_control WHERE name = 'condition'"},
        {"on_sent = \"position\"\nslices = 4\n", NULL},
        {"on_sent = \"position\"\nslices = 8\n", NULL},
        {"on_sent = \"position\"\nslices = 2\n", ""},
        {"on_sent = \"mark\"\nslices = 2\n", NULL},
    };

    sql(fixture->conn, "DROP TABLE outbox, outbox_progress CASCADE; DROP TABLE outbox_control,"
                       " outbox_slice, outbox_parked");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        write_position_config(fixture, steps[i].outbox, STDOUT_SINK);
        if (i == 2 || i == 3) { /* in one transaction: no relay makes positions in between */
            expect(fixture, run_command(fixture, "init"), 5);
            assert_null(strstr(strstr(fixture->process.out, "COMMIT") + 1, "COMMIT"));
        }
        init_existing(fixture);
        expect(fixture, run_command(fixture, "init"), 0);
        insert_rows(fixture->conn, sent + 1, 100); /* beside those that the step before has left */
        sent += 100;
        drain_printed(fixture, 0);
        assert_printed(fixture, sent);
        insert_rows(fixture->conn, sent + 1, 30);
        sent += 30;
        if (steps[i].leave == NULL)
            continue;
        if (steps[i].leave[0] != '\0') {
            sql(fixture->conn, "%s", steps[i].leave);
            continue;
        }
        write_position_config(fixture, "on_sent = \"mark\"\nslices = 2\n", STDOUT_SINK);
        expect(fixture, run_drain(fixture), 3);
        assert_says(fixture->process.err, "outbox-relay sql position_leave");
        write_position_config(fixture, steps[i].outbox, STDOUT_SINK);
        expect_run(fixture, 0, "sql", "position_leave");
        sql(fixture->conn, "%s", fixture->process.out);
    }
    drain_printed(fixture, 0);
    assert_printed(fixture, sent);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox WHERE sent_at IS NULL");
}

FIXTURE_TEST(an_application_can_change_neither_the_place_of_a_row_nor_its_transaction)
{
    static const char *const refused[] = {
        "UPDATE outbox SET key = 'b'",
        "UPDATE outbox SET xid = '3'",
        "UPDATE outbox SET xid = pg_current_xact_id()",
        "UPDATE outbox SET type = 'rekeyed'", /* by a trigger of the application */
        "INSERT INTO outbox (topic, key, xid) VALUES ('t', 'a', '3')",
        "INSERT INTO outbox (topic, key, xid) VALUES ('t', 'a', '999999999')",
        "INSERT INTO outbox (topic, key, xid) SELECT topic, key, xid FROM outbox",
        "INSERT INTO outbox OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(o,"
        " '{\"id\": 7}')).* FROM outbox o",
    };

    sql(fixture->conn,
        "INSERT INTO outbox (topic, key) VALUES ('t', 'a');"
        " CREATE FUNCTION rekey() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.key :="
        " 'c'; RETURN NEW; END $$;"
        " CREATE TRIGGER rekey BEFORE UPDATE ON outbox FOR EACH ROW WHEN (NEW.type = 'rekeyed')"
        " EXECUTE FUNCTION rekey()");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_sql_error(fixture->conn, refused[i]);
    sql(fixture->conn,
        "UPDATE outbox SET id = DEFAULT WHERE false; UPDATE outbox SET key = key, type = 'a';"
        " BEGIN; SAVEPOINT a; INSERT INTO outbox (topic, key, xid) VALUES ('t', 'a',"
        " pg_current_xact_id()); COMMIT");
    drain_printed(fixture, 0);
    assert_printed(fixture, 2);
}

FIXTURE_TEST(check_names_what_a_position_cannot_bear)
{
    sql(fixture->conn,
        "ALTER TABLE outbox ALTER xid DROP DEFAULT; ALTER SEQUENCE outbox_id_seq CACHE"
        " 20; DROP TRIGGER outbox_relay_position ON outbox;"
        " ALTER TABLE outbox DISABLE TRIGGER outbox_relay_xid");
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "has CACHE 20");
    assert_says(fixture->process.out, "has lost its default");
    assert_says(fixture->process.out, "no trigger keeps applications from changing the key");
    assert_says(fixture->process.out, "CREATE TRIGGER outbox_relay_position AFTER UPDATE ON");
    assert_says(fixture->process.out, "no trigger keeps applications from writing an");
    assert_says(fixture->process.out, "ENABLE TRIGGER outbox_relay_xid;");
    expect(fixture, run_drain(fixture), 3);
}
