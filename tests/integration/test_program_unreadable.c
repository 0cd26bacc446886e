/*
 * Rows that PostgreSQL cannot read, among a thousand good ones: `run --drain` delivers all
 * others, and parks each such row as dead with the server's message and everything that it holds.
 * Mended there and retried, it leaves, before the rows of its key that stood behind it.
 */
#include "integration/program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

FIXTURE(set_up, fixture_close)

#define BAD "00000000-0000-4000-8000-000000000bad"
#define BEHIND 50 /* rows of its key, when order is kept */

struct bad_row {
    const char *encoding; /* of its database */
    const char *types;    /* of the table's columns */
    const char *columns, *values;
    const char *says; /* the server */
    const char *kept; /* is true of the parked row */
    const char *mend;
};

/* The text is of jsonb, which holds any byte here. */
static const struct bad_row bytes_without_an_encoding = {
    .encoding = "SQL_ASCII",
    .types = "SELECT",
    .columns = "payload",
    .values = "E'\"caf\\xe9\"'",
    .says = "invalid byte sequence for encoding \"UTF8\": 0xe9",
    .kept = "payload::text = E'\"caf\\xe9\"'",
    .mend = "payload = '\"cafe\"'"};

static const struct bad_row a_byte_without_an_equivalent = {
    .encoding = "WIN1252",
    .types = "SELECT",
    .columns = "payload",
    .values = "E'\"caf\\x81\"'",
    .says = "has no equivalent in encoding \"UTF8\"",
    .kept = "payload::text = E'\"caf\\x81\"'",
    .mend = "payload = '\"cafe\"'"};

static const struct bad_row a_time_that_is_none = {
    .encoding = "UTF8",
    .types = "ALTER TABLE outbox ALTER created_at TYPE text, ALTER created_at SET DEFAULT"
             " now()::text; ALTER TABLE outbox_parked ALTER created_at TYPE text",
    .columns = "payload, created_at",
    .values = "'\"cafe\"', 'garbage'",
    .says = "invalid input syntax for type timestamp with time zone: \"garbage\"",
    .kept = "payload::text = '\"cafe\"' AND created_at = 'garbage'",
    .mend = "created_at = now()::text"};

static const struct bad_row a_cast_that_raises = {
    .encoding = "UTF8",
    .types =
        "CREATE TYPE mood AS ENUM ('good', 'bad'); CREATE FUNCTION mood_text(mood) RETURNS text"
        " LANGUAGE plpgsql AS $$BEGIN IF $1 = 'bad' THEN RAISE 'in a bad mood'; END IF; RETURN"
        " 'good'; END$$; CREATE CAST (mood AS text) WITH FUNCTION mood_text(mood);"
        " ALTER TABLE outbox ALTER type TYPE mood USING NULL;"
        " ALTER TABLE outbox_parked ALTER type TYPE mood USING NULL",
    .columns = "payload, type",
    .values = "'\"cafe\"', 'bad'",
    .says = "in a bad mood",
    .kept = "payload::text = '\"cafe\"' AND type = 'bad'::mood",
    .mend = "type = 'good'"};

static void configure_for(struct fixture *fixture, const char *order, const char *on_sent)
{
    write_relay_toml(fixture,
                     "[outbox]\norder = \"%s\"\non_sent ="
                     " \"%s\"\n" STDOUT_SINK "\n",
                     order, on_sent);
}

/* Another database beside the fixture's; its connection speaks its encoding. */
static void open_coded(struct fixture *fixture, const char *encoding)
{
    char url[256];

    memcpy(url, fixture->url, sizeof url);
    sql(fixture->conn, "SET client_min_messages = warning;");
    sql(fixture->conn, "DROP DATABASE IF EXISTS %s_coded WITH (FORCE)", PQdb(fixture->conn));
    sql(fixture->conn,
        "CREATE DATABASE %s_coded OWNER " HARNESS_RELAY
        " ENCODING '%s' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'",
        PQdb(fixture->conn), encoding);
    (void)snprintf(fixture->url, sizeof fixture->url, "%.240s_coded", url);
    PQfinish(fixture->conn);
    fixture->conn = harness_connect(fixture->url);
    sql(fixture->conn, "ALTER SCHEMA public OWNER TO " HARNESS_RELAY);
    assert_int_equal(PQsetClientEncoding(fixture->conn, encoding), 0);
}

static void close_coded(struct fixture *fixture)
{
    char name[64];

    (void)snprintf(name, sizeof name, "%s", PQdb(fixture->conn));
    fixture->url[strlen(fixture->url) - strlen("_coded")] = '\0';
    PQfinish(fixture->conn);
    fixture->conn = harness_connect(fixture->url);
    sql(fixture->conn, "DROP DATABASE %s WITH (FORCE)", name);
}

static void insert_good(struct fixture *fixture, int first)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload) SELECT 't', 'k' || i %% 10, to_jsonb(i)"
        " FROM generate_series(%d, %d) i",
        first, first + 499);
}

static void insert_rows(struct fixture *fixture, const struct bad_row *bad)
{
    insert_good(fixture, 1);
    sql(fixture->conn,
        "INSERT INTO outbox (event_id, topic, key, %s) VALUES ('" BAD "', 't', 'k5',"
        " %s)",
        bad->columns, bad->values);
    insert_good(fixture, 501);
}

#define DEAD(fixture, ...)                                                                         \
    expect(fixture, run(fixture, "dead", __VA_ARGS__, "-c", (fixture)->config), 0)

static long long count_printed(struct fixture *fixture)
{
    return sql_number(fixture->conn, "SELECT count(*) FROM printed");
}

static void assert_parked(struct fixture *fixture, const struct bad_row *bad, int behind)
{
    assert_number(fixture->conn, 1 + behind, "SELECT count(*) FROM outbox_parked");
    assert_string_equal(
        sql_text(fixture->conn, "SELECT event_id FROM outbox_parked WHERE state = 'dead'"), BAD);
    assert_says(sql_text(fixture->conn, "SELECT error FROM outbox_parked WHERE state = 'dead'"),
                "PostgreSQL cannot read this row: ");
    assert_says(sql_text(fixture->conn, "SELECT error FROM outbox_parked WHERE state = 'dead'"),
                bad->says);
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM outbox_parked WHERE state = 'dead' AND topic ="
                  " 't' AND key = 'k5' AND %s",
                  bad->kept);
    assert_number(fixture->conn, behind,
                  "SELECT count(*) FROM outbox_parked WHERE state = 'behind'");
}

/* Rows behind the dead one are not due while it is dead, and leave after it. */
static void mend_and_retry(struct fixture *fixture, const struct bad_row *bad)
{
    sql(fixture->conn, "UPDATE outbox_parked SET %s WHERE state = 'dead'", bad->mend);
    expect_run(fixture, 0, "dead", "retry", BAD);
    drain_printed(fixture, 0);
    assert_int_equal(count_printed(fixture), 1001);
    assert_number(fixture->conn, 1001, "SELECT count(DISTINCT line->>'id') FROM printed");
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM printed WHERE line->>'id' ="
                  " '" BAD "' AND line->>'payload' = 'cafe'");
}

/* The payload of a good row is its number. */
static void assert_order_of_keys(struct fixture *fixture)
{
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT line->>'key' AS key, CASE line->>'id' WHEN '" BAD
                  "' THEN 500.5 ELSE (line->>'payload')::numeric END AS number,"
                  " lag(CASE line->>'id' WHEN '" BAD "' THEN 500.5 ELSE (line->>'payload')::numeric"
                  " END) OVER (PARTITION BY line->>'key' ORDER BY place) AS before"
                  " FROM printed) lines WHERE before > number");
}

static void deliver_beside(struct fixture *fixture, const struct bad_row *bad, const char *order,
                           const char *on_sent)
{
    bool keeps = strcmp(order, "key") == 0;

    open_coded(fixture, bad->encoding);
    configure_for(fixture, order, on_sent);
    expect_run(fixture, 0, "init");
    sql(fixture->conn, "%s", bad->types);
    insert_rows(fixture, bad);
    drain_printed(fixture, 1); /* rows are left */
    assert_int_equal(count_printed(fixture), keeps ? 1000 - BEHIND : 1000);
    assert_parked(fixture, bad, keeps ? BEHIND : 0);
    mend_and_retry(fixture, bad);
    if (keeps)
        assert_order_of_keys(fixture);
    close_coded(fixture);
}

/* In every mode, and then one mode for each other kind: parking asks for the mode, and not for the
 * kind. */
TEST(beside_bytes_without_an_encoding_all_others_are_delivered)
{
    deliver_beside(*state, &bytes_without_an_encoding, "key", "mark");
    deliver_beside(*state, &bytes_without_an_encoding, "key", "delete");
    deliver_beside(*state, &bytes_without_an_encoding, "none", "mark");
    deliver_beside(*state, &bytes_without_an_encoding, "none", "delete");
}

TEST(beside_a_row_of_another_kind_all_others_are_delivered)
{
    deliver_beside(*state, &a_byte_without_an_equivalent, "key", "mark");
    deliver_beside(*state, &a_time_that_is_none, "key", "delete");
    deliver_beside(*state, &a_cast_that_raises, "none", "mark");
}

FIXTURE_TEST(beside_many_of_them_all_others_are_delivered)
{
    static const char *const orders[] = {"key", "none"};

    for (int i = 0; i < 2; i++) {
        open_coded(fixture, "SQL_ASCII");
        configure_for(fixture, orders[i], "delete");
        expect_run(fixture, 0, "init");
        sql(fixture->conn,
            "INSERT INTO outbox (topic, key, payload) SELECT 't', 'k' || i, CASE WHEN"
            " i %% 20 = 7 THEN E'\"caf\\xe9\"' ELSE to_jsonb(i) END"
            " FROM generate_series(1, 1000) i");
        drain_printed(fixture, 1);
        assert_int_equal(count_printed(fixture), 950);
        assert_number(fixture->conn, 50,
                      "SELECT count(*) FROM outbox_parked WHERE state ="
                      " 'dead' AND payload::text = E'\"caf\\xe9\"'");
        close_coded(fixture);
    }
}

/* Nobody else waits for it for longer than some seconds. */
FIXTURE_TEST(a_row_that_takes_more_than_two_seconds_to_read_is_given_up)
{
    open_coded(fixture, "UTF8");
    configure_for(fixture, "key", "delete");
    expect_run(fixture, 0, "init");
    sql(fixture->conn,
        "CREATE TYPE pace AS ENUM ('slow'); CREATE FUNCTION pace_text(pace) RETURNS"
        " text STRICT LANGUAGE plpgsql AS $$BEGIN PERFORM pg_sleep(60); RETURN 'slow'; END$$;"
        " CREATE CAST (pace AS text) WITH FUNCTION pace_text(pace);"
        " ALTER TABLE outbox ALTER type TYPE pace USING NULL;"
        " ALTER TABLE outbox_parked ALTER type TYPE pace USING NULL");
    insert_good(fixture, 1);
    sql(fixture->conn, "INSERT INTO outbox (topic, key, type) VALUES ('t', 'large', 'slow')");
    insert_good(fixture, 501);
    drain_printed(fixture, 1);
    assert_int_equal(count_printed(fixture), 1000);
    assert_says(sql_text(fixture->conn, "SELECT error FROM outbox_parked WHERE state = 'dead'"),
                "canceling statement due to statement timeout");
    close_coded(fixture);
}

/* Each of them is refused by itself. Kept behind the first of its key it would wait for ever, only
 * to be refused in the end. */
FIXTURE_TEST(rows_whose_key_cannot_be_handed_over_hold_up_no_other_key)
{
    open_coded(fixture, "SQL_ASCII");
    configure_for(fixture, "key", "mark");
    expect_run(fixture, 0, "init");
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) SELECT 't', CASE i %% 10 WHEN 3"
                       " THEN E'k\\xe9' ELSE 'k' || i %% 10 END, to_jsonb(i)"
                       " FROM generate_series(1, 200) i");
    drain_printed(fixture, 1);
    assert_int_equal(count_printed(fixture), 180);
    assert_number(fixture->conn, 20, "SELECT count(*) FROM outbox_parked");
    sql(fixture->conn, "UPDATE outbox_parked SET key = 'k3'");
    DEAD(fixture, "retry", "--all");
    drain_printed(fixture, 0);
    assert_int_equal(count_printed(fixture), 200);
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT (line->>'payload')::int AS number,"
                  " lag((line->>'payload')::int) OVER (ORDER BY place) AS before FROM"
                  " (SELECT line, row_number() OVER () AS place FROM printed) placed WHERE"
                  " line->>'key' = 'k3') lines WHERE before > number");
    close_coded(fixture);
}

/* ---- `dead`, before they are mended ---- */

static const struct bad_row everywhere = {.encoding = "SQL_ASCII",
                                          .types = "SELECT",
                                          .columns = "type, headers, payload",
                                          .values = "E'Ev\\xe9nement', E'{\"h\": \"\\xe9\"}',"
                                                    " E'\"caf\\xe9\"'",
                                          .says = "invalid byte sequence"};

/* Both are dead. */
static void park_beside_a_good_one(struct fixture *fixture, const struct bad_row *bad)
{
    open_coded(fixture, bad->encoding);
    configure_for(fixture, "key", "mark");
    expect_run(fixture, 0, "init");
    sql(fixture->conn, "%s", bad->types);
    sql(fixture->conn,
        "INSERT INTO outbox (event_id, topic, key, %s) VALUES ('" BAD "', 't', 'k5',"
        " %s)",
        bad->columns, bad->values);
    sql(fixture->conn, "INSERT INTO outbox (topic, key) VALUES ('', 'k6')"); /* no such topic */
    expect(fixture, run_drain(fixture), 1);
    assert_number(fixture->conn, 2, "SELECT count(*) FROM outbox_parked WHERE state = 'dead'");
}

static void assert_listed(struct fixture *fixture, const struct bad_row *bad)
{
    DEAD(fixture, "list");
    assert_int_equal(count_lines(fixture->process.out), 3); /* with the names of the columns */
    assert_says(fixture->process.out, "1\tdead\t" BAD "\t");
    assert_says(fixture->process.out, bad->says);
    assert_says(fixture->process.out, "2\tdead\t");
    assert_says(fixture->process.out, "\tk6\t"); /* a good row is shown whole */
    DEAD(fixture, "list", "--json");
    assert_int_equal(count_lines(fixture->process.out), 2);
    assert_says(fixture->process.out, "\"event_id\":\"" BAD "\"");
    DEAD(fixture, "list", "--topic", "t");
    assert_int_equal(count_lines(fixture->process.out), 2);
    assert_says(fixture->process.out, BAD);
}

static void assert_shown(struct fixture *fixture, const struct bad_row *bad)
{
    static const char *const ids[] = {"1", BAD};

    for (int i = 0; i < 2; i++) {
        DEAD(fixture, "show", ids[i]);
        assert_says(fixture->process.out, BAD);
        assert_says(fixture->process.out, bad->says);
        DEAD(fixture, "show", ids[i], "--json");
        assert_says(fixture->process.out, "\"event_id\":\"" BAD "\"");
    }
}

/* The row is dead again and has lost nothing. */
static void assert_retried(struct fixture *fixture)
{
    DEAD(fixture, "retry", BAD, "--dry-run");
    assert_says(fixture->process.out, "would retry 1\n");
    DEAD(fixture, "retry", BAD);
    assert_string_equal(fixture->process.out, "1 row will be tried again\n");
    expect(fixture, run_drain(fixture), 1);
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM outbox_parked WHERE state = 'dead'"
                  " AND event_id = '" BAD "' AND payload IS NOT NULL");
}

static void assert_dropped(struct fixture *fixture)
{
    DEAD(fixture, "drop", BAD, "--dry-run");
    assert_says(fixture->process.out, "would drop 1\n");
    DEAD(fixture, "drop", BAD, "--json");
    assert_says(fixture->process.out, "\"result\":\"dropped\"");
    assert_number(fixture->conn, 1, "SELECT count(*) FROM outbox_parked");
}

static void operate_on(struct fixture *fixture, const struct bad_row *bad)
{
    park_beside_a_good_one(fixture, bad);
    assert_listed(fixture, bad);
    assert_shown(fixture, bad);
    assert_retried(fixture);
    assert_dropped(fixture);
    close_coded(fixture);
}

TEST(a_dead_row_of_each_kind_can_be_operated_on)
{
    operate_on(*state, &everywhere);
    operate_on(*state, &a_byte_without_an_equivalent);
    operate_on(*state, &a_time_that_is_none);
    operate_on(*state, &a_cast_that_raises);
}

/* ---- where it cannot be parked ---- */

static void start_relay(struct fixture *fixture)
{
    process_free(&fixture->process);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
}

/* The parked table refuses rows with values, and accepts a bare id. */
static void open_refusing(struct fixture *fixture, const char *sqlstate)
{
    open_coded(fixture, "SQL_ASCII");
    configure_for(fixture, "key", "mark");
    expect_run(fixture, 0, "init");
    sql(fixture->conn,
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN IF NEW.topic IS NOT"
        " NULL THEN RAISE 'not now' USING ERRCODE = '%s'; END IF; RETURN NEW; END$$; CREATE TRIGGER"
        " refuse BEFORE INSERT ON outbox_parked FOR EACH ROW EXECUTE FUNCTION refuse()",
        sqlstate);
}

/* Once the obstacle is gone the row is parked with everything that it holds. */
FIXTURE_TEST(a_row_that_cannot_be_parked_stays_as_it_is)
{
    open_refusing(fixture, "P0001");
    insert_rows(fixture, &bytes_without_an_encoding);
    start_relay(fixture);
    process_await_words(&fixture->process,
                        "could not be parked or settled: database: raise_exception");
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM outbox WHERE event_id = '" BAD
                  "' AND sent_at IS NULL AND %s",
                  bytes_without_an_encoding.kept);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked");
    wait_for_number(fixture->conn, 1000 - BEHIND,
                    "SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL");
    sql(fixture->conn, "DROP TRIGGER refuse ON outbox_parked");
    wait_for_number(fixture->conn, 1 + BEHIND, "SELECT count(*) FROM outbox_parked");
    process_stop(&fixture->process, SIGTERM);
    assert_parked(fixture, &bytes_without_an_encoding, BEHIND);
    close_coded(fixture);
}

/* Its values are lost and cannot be copied, so only its id is parked. */
FIXTURE_TEST(of_a_row_whose_values_are_damaged_the_id_is_parked)
{
    open_refusing(fixture, "XX001");
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) VALUES ('t', 'k5',"
                       " E'\"caf\\xe9\"'), ('t', 'k6', '1')");
    drain_printed(fixture, 1);
    assert_int_equal(count_printed(fixture), 1);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox WHERE id = 1");
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM outbox_parked WHERE id = 1 AND state = 'dead'"
                  " AND topic IS NULL AND error LIKE '%%cannot read this row%%'");
    DEAD(fixture, "show", "1");
    close_coded(fixture);
}
