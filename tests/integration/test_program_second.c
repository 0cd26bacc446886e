/*
 * What leaves a second time is what left the first time: retried, replayed, repaired or tried again
 * after a crash, whatever the shape in which the relay keeps the row; and a row and its copy never
 * both leave.
 */
#include "integration/program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

FIXTURE(set_up, fixture_close)

static const char *const orders[] = {"key", "none"};

/* The default table with a column of its own, from which the type is computed. */
static void open_table(struct fixture *fixture, const char *outbox, const char *columns,
                       const char *rest)
{
    sql(fixture->conn,
        "SET client_min_messages = warning; DROP TABLE IF EXISTS outbox, outbox_parked,"
        " outbox_slice, outbox_control, printed; CREATE TABLE outbox (id bigint GENERATED ALWAYS AS"
        " IDENTITY PRIMARY KEY, event_id uuid NOT NULL DEFAULT gen_random_uuid(), topic text NOT"
        " NULL DEFAULT 't', key text, payload jsonb, created_at timestamptz NOT NULL DEFAULT now(),"
        " div int NOT NULL DEFAULT 1, spare text, sent_at timestamptz);"
        " COMMENT ON COLUMN outbox.sent_at IS 'outbox-relay: only the relay writes this column'");
    write_relay_toml(fixture,
                     "[outbox]\nadopt = true\n%s[outbox.columns]\nheaders = \"\"\n%s"
                     "[relay]\npoll_interval = \"20ms\"\n%s",
                     outbox, columns, rest);
    if (run_command(fixture, "init") == 5) {
        execute_printed(fixture);
        expect(fixture, run_command(fixture, "init"), 0);
    }
}

static void drain(struct fixture *fixture, int status)
{
    expect(fixture, run(fixture, "run", "--drain", "-c", fixture->config), status);
    load_printed(fixture, fixture->process.out);
}

static void open_divided(struct fixture *fixture, const char *order)
{
    char outbox[64];

    (void)snprintf(outbox, sizeof outbox, "order = \"%s\"\n", order);
    open_table(fixture, outbox, "type = \"((10/div)::text)\"\n", STDOUT_SINK "\n");
}

/* Row 2 cannot be computed: it is kept as a whole, corrected, retried and sent. */
static void send_corrected(struct fixture *fixture, const char *order)
{
    open_divided(fixture, order);
    sql(fixture->conn, "INSERT INTO outbox (key, payload, div) SELECT 'k', to_jsonb(n), CASE n WHEN"
                       " 2 THEN 0 ELSE n END FROM generate_series(1, 3) n");
    drain(fixture, 1);
    sql(fixture->conn, "UPDATE outbox_parked SET raw = jsonb_set(raw::jsonb, '{div}', '\"5\"')"
                       " WHERE raw IS NOT NULL");
    expect(fixture, run(fixture, "dead", "retry", "--all", "-c", fixture->config), 0);
    drain(fixture, 0);
}

/* How often each of the rows has left, as "payload type times", and that of the key in order. */
#define LEFT                                                                                        \
    "SELECT string_agg(concat(payload, ' ', type, ' ', times), ', ' ORDER BY payload) FROM (SELECT" \
    " line->>'payload' AS payload, line->>'type' AS type, count(*) AS times FROM printed GROUP BY"  \
    " 1, 2) left_rows"

TEST(a_row_that_was_kept_as_a_whole_is_replayed_as_it_was_sent)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < 2; i++) {
        send_corrected(fixture, orders[i]);
        expect(fixture, run(fixture, "replay", "--since", "1h", "-c", fixture->config), 0);
        assert_string_equal(fixture->process.out, "replayed 3\n");
        drain(fixture, 0);
        assert_string_equal(sql_text(fixture->conn, LEFT), "1 10 2, 2 2 2, 3 3 2");
        /* It can be named by what it was sent with, and what is configured later changes nothing.
         */
        (void)run_command(fixture, "check");
        expect(fixture,
               run(fixture, "replay",
                   sql_text(fixture->conn, "SELECT line->>'id' FROM printed WHERE line->>'payload'"
                                           " = '2' LIMIT 1"),
                   "-c", fixture->config),
               0);
        drain(fixture, 0);
        assert_string_equal(sql_text(fixture->conn, LEFT), "1 10 2, 2 2 3, 3 3 2");
    }
}

/* Of two copies of one row, the one that was made first is tried first. */
TEST(a_second_copy_of_a_row_waits_behind_the_first)
{
    struct fixture *fixture = *state;

    for (int i = 0; i < 2; i++) {
        send_corrected(fixture, orders[i]);
        expect(fixture, run(fixture, "replay", "2", "-c", fixture->config), 0);
        sql(fixture->conn, "UPDATE outbox_parked SET state = 'dead', due = NULL, error = 'tried'"
                           " WHERE replayed_at IS NOT NULL");
        expect(fixture, run(fixture, "replay", "2", "-c", fixture->config), 0);
        drain(fixture, 1);
        assert_string_equal(
            sql_text(fixture->conn,
                     "SELECT string_agg(state, ' ' ORDER BY seq) FROM outbox_parked WHERE"
                     " replayed_at IS NOT NULL"),
            i == 0 ? "dead behind" : "dead sent");
        expect(fixture, run(fixture, "dead", "retry", "--all", "-c", fixture->config), 0);
        drain(fixture, 0);
        assert_string_equal(sql_text(fixture->conn, LEFT), "1 10 1, 2 2 3, 3 3 1");
        expect(fixture, run(fixture, "dead", "list", "-c", fixture->config), 0);
        /* The other way round: the first copy is dropped. */
        expect(fixture, run(fixture, "replay", "2", "-c", fixture->config), 0);
        sql(fixture->conn, "UPDATE outbox_parked SET state = 'dead', due = NULL, error = 'tried'"
                           " WHERE replayed_at IS NOT NULL AND sent_at IS NULL");
        expect(fixture, run(fixture, "replay", "2", "-c", fixture->config), 0);
        expect(fixture, run(fixture, "dead", "drop", "--all", "-c", fixture->config), 0);
        drain(fixture, 0);
        assert_string_equal(sql_text(fixture->conn, LEFT), "1 10 1, 2 2 4, 3 3 1");
    }
}

/* ---- a row that stays in its table, and its copy */

#define PARK                                                                                       \
    "where = \"status = 'NEW'\"\nmark = \"status = 'SENT', sent_at = now()\"\n"                    \
    "park = \"status = 'FAILED'\"\n"

static void open_parked(struct fixture *fixture, const char *order, int rows)
{
    char outbox[256];

    (void)snprintf(outbox, sizeof outbox, "order = \"%s\"\n" PARK, order);
    open_table(fixture, "", "", STDOUT_SINK "\n");
    sql(fixture->conn, "DROP TABLE outbox_parked, outbox_control; DROP TABLE IF EXISTS"
                       " outbox_slice; ALTER TABLE outbox ADD status text NOT NULL DEFAULT 'NEW'");
    write_relay_toml(fixture,
                     "[outbox]\nadopt = true\n%s[outbox.columns]\nheaders = \"\"\ntype = \"\"\n"
                     "[relay]\nlanes = 4\npoll_interval = \"20ms\"\n[sink.out]\ntype = \"stdout\"\n"
                     "[[route]]\nmatch = \"good\"\nsink = \"out\"\n",
                     outbox);
    if (run_command(fixture, "init") == 5) {
        execute_printed(fixture);
        expect(fixture, run_command(fixture, "init"), 0);
    }
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload) SELECT CASE WHEN n <= 50 THEN '' ELSE 'good'"
        " END, 'k' || n %% 50, to_jsonb(n) FROM generate_series(1, %d) n",
        rows);
    drain(fixture, 1);
    sql(fixture->conn, "UPDATE outbox SET topic = 'good'");
}

/* As a dashboard does whose "retry all" somebody keeps pressing, while `dead retry` runs as well.
 */
TEST(a_row_that_its_owner_brings_back_again_and_again_leaves_once)
{
    struct fixture *fixture = *state;
    struct process relay;

    for (int i = 0; i < 2; i++) {
        open_parked(fixture, orders[i], 400);
        process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
        for (int j = 0; j < 60; j++) {
            sql(fixture->conn, "UPDATE outbox SET status = 'NEW' WHERE status = 'FAILED'");
            if (j % 2 == 0)
                (void)run(fixture, "dead", "retry", "--all", "-c", fixture->config);
            if (sql_number(fixture->conn, "SELECT count(*) FROM outbox WHERE status <> 'SENT'") ==
                0)
                break;
        }
        wait_for_number(fixture->conn, 400, "SELECT count(*) FROM outbox WHERE status = 'SENT'");
        process_stop(&relay, SIGTERM);
        load_printed(fixture, relay.out);
        process_free(&relay);
        assert_int_equal(sql_number(fixture->conn, "SELECT count(*) FROM outbox_parked"), 0);
        assert_int_equal(
            sql_number(fixture->conn, "SELECT count(DISTINCT line->>'payload') FROM printed"), 400);
        assert_int_equal(sql_number(fixture->conn, "SELECT count(*) FROM printed"), 400);
        if (i == 0)
            assert_keys_printed_in_order(fixture);
    }
}

/* Whoever holds a lock on the row, or on its copy, keeps it from leaving, and not from being
 * settled. */
TEST(a_row_or_a_copy_that_somebody_has_locked_waits_and_leaves_once)
{
    static const char *const locks[] = {"SELECT FROM outbox WHERE id <= 5 FOR UPDATE",
                                        "SELECT FROM outbox_parked WHERE id <= 5 FOR UPDATE"};
    struct fixture *fixture = *state;
    struct process relay;

    for (size_t i = 0; i < 4; i++) {
        PGconn *owner;

        open_parked(fixture, orders[i % 2], 60);
        if (i / 2 == 1)
            sql(fixture->conn, "UPDATE outbox SET key = NULL; UPDATE outbox_parked SET key = NULL");
        owner = harness_connect(fixture->url);
        sql(owner, "BEGIN; %s", locks[i / 2]);
        if (i / 2 == 0)
            expect(fixture, run(fixture, "dead", "retry", "--all", "-c", fixture->config), 0);
        else
            sql(fixture->conn, "UPDATE outbox SET status = 'NEW' WHERE status = 'FAILED'");
        process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
        wait_for_number(fixture->conn, 1,
                        "SELECT (count(*) >= 40)::int FROM outbox WHERE status = 'SENT'");
        sql(owner, "SELECT pg_sleep(3); COMMIT");
        PQfinish(owner);
        wait_for_number(fixture->conn, 60, "SELECT count(*) FROM outbox WHERE status = 'SENT'");
        wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked");
        process_stop(&relay, SIGTERM);
        load_printed(fixture, relay.out);
        process_free(&relay);
        assert_int_equal(sql_number(fixture->conn, "SELECT count(*) FROM printed"), 60);
        if (i == 0)
            assert_keys_printed_in_order(fixture);
    }
}

/* ---- a table that has changed since a row was kept as a whole */

#define PAYLOAD_TYPE "payload = \"payload\"\ntype = \"((10/div)::text)\"\n"

/* Row 2 waits as a whole; the table changes, and the configuration with it. */
static void change_table(struct fixture *fixture, const char *columns, const char *ddl,
                         const char *now_columns)
{
    open_table(fixture, "", columns, STDOUT_SINK "\n");
    sql(fixture->conn, "INSERT INTO outbox (key, payload, div, spare) SELECT 'k' || n, to_jsonb(n),"
                       " CASE n WHEN 2 THEN 0 ELSE n END, 'old' FROM generate_series(1, 3) n");
    drain(fixture, 1);
    sql(fixture->conn, "%s", ddl);
    sql(fixture->conn, "UPDATE outbox_parked SET raw = jsonb_set(raw::jsonb, '{div}', '\"5\"')");
    write_relay_toml(fixture,
                     "[outbox]\nadopt = true\n[outbox.columns]\nheaders = \"\"\n%s"
                     "[relay]\npoll_interval = \"20ms\"\n" STDOUT_SINK "\n",
                     now_columns);
    expect(fixture, run(fixture, "dead", "retry", "--all", "-c", fixture->config), 0);
}

/* Its UPDATE can be typed as it stands; then the row is sent with all that it had. */
TEST(a_row_that_was_kept_as_a_whole_is_sent_with_what_it_had_or_not_at_all)
{
    static const struct {
        const char *columns;
        const char *ddl;
        const char *now_columns;
        const char *problem; /* NULL: it is sent */
        const char *sent;
    } cases[] = {
        {PAYLOAD_TYPE, "ALTER TABLE outbox RENAME payload TO body",
         "payload = \"body\"\ntype = \"((10/div)::text)\"\n", "it has no column body", "2 2"},
        {PAYLOAD_TYPE, "ALTER TABLE outbox RENAME payload TO body",
         "payload = \"(body)\"\ntype = \"((10/div)::text)\"\n", "it has no column body", "2 2"},
        {PAYLOAD_TYPE,
         "ALTER TABLE outbox ADD kind text DEFAULT 'new'; UPDATE outbox SET kind = 'x'",
         "payload = \"payload\"\ntype = \"kind\"\n", "it has no column kind", "2 "},
        {PAYLOAD_TYPE, "ALTER TABLE outbox ADD kind text NOT NULL DEFAULT 'new'", PAYLOAD_TYPE,
         NULL, "2 2"},
        {PAYLOAD_TYPE, "ALTER TABLE outbox DROP spare", PAYLOAD_TYPE, NULL, "2 2"},
        {PAYLOAD_TYPE, "ALTER TABLE outbox DROP div, ADD div text NOT NULL DEFAULT '7'",
         "payload = \"payload\"\ntype = \"(div || '!')\"\n",
         "its column div had type integer, and has type text now", "2 5!"},
        {PAYLOAD_TYPE, "ALTER TABLE outbox ALTER div TYPE numeric", PAYLOAD_TYPE,
         "its column div had type integer, and has type numeric now", "2 2.0000000000000000"},
        {"payload = \"(to_jsonb(outbox)->'spare')\"\ntype = \"((10/div)::text)\"\n",
         "ALTER TABLE outbox DROP spare",
         "payload = \"(to_jsonb(outbox)->'div')\"\ntype ="
         " \"((10/div)::text)\"\n",
         "the table has no column spare, and whole rows are read", "5 2"},
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char update[1024];

        change_table(fixture, cases[i].columns, cases[i].ddl, cases[i].now_columns);
        drain(fixture, cases[i].problem != NULL);
        if (cases[i].problem != NULL) {
            expect(fixture, run(fixture, "dead", "show", "2", "-c", fixture->config), 0);
            assert_says(fixture->process.out, cases[i].problem);
            assert_says(fixture->process.out, "run the UPDATE that the error names");
            (void)snprintf(update, sizeof update, "%s",
                           sql_text(fixture->conn, "SELECT substring(error FROM 'UPDATE .*')"
                                                   " FROM outbox_parked"));
            sql(fixture->conn, "%s", update);
            expect(fixture, run(fixture, "dead", "retry", "--all", "-c", fixture->config), 0);
            drain(fixture, 0);
        }
        assert_string_equal(
            sql_text(fixture->conn,
                     "SELECT string_agg(concat(line->>'payload', ' ', line->>'type'),"
                     " ', ') FROM printed WHERE line->>'key' = 'k2'"),
            cases[i].sent);
    }
}
