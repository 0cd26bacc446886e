/* A row that was kept as a whole is sent with what it had, and replayed as it was sent; a second
 * copy of a row waits behind the first. */
#include "integration/program.h"

#include <stdio.h>
#include <string.h>

FIXTURE(fixture_open_empty, fixture_close)

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
                     "[relay]\npoll_interval = \"50ms\"\n%s",
                     outbox, columns, rest);
    init_existing(fixture);
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
    drain_printed(fixture, 1);
    sql(fixture->conn, "UPDATE outbox_parked SET raw = jsonb_set(raw::jsonb, '{div}', '\"5\"')"
                       " WHERE raw IS NOT NULL");
    expect_run(fixture, 0, "dead", "retry", "--all");
    drain_printed(fixture, 0);
}

/* How often each of the rows has left, as "payload type times", and that of the key in order. */
#define LEFT                                                                                        \
    "SELECT string_agg(concat(payload, ' ', type, ' ', times), ', ' ORDER BY payload) FROM (SELECT" \
    " line->>'payload' AS payload, line->>'type' AS type, count(*) AS times FROM printed GROUP BY"  \
    " 1, 2) left_rows"

FIXTURE_TEST(a_row_that_was_kept_as_a_whole_is_replayed_as_it_was_sent)
{
    for (int i = 0; i < 2; i++) {
        send_corrected(fixture, orders[i]);
        expect_run(fixture, 0, "replay", "--since", "1h");
        assert_string_equal(fixture->process.out, "replayed 3\n");
        drain_printed(fixture, 0);
        assert_string_equal(sql_text(fixture->conn, LEFT), "1 10 2, 2 2 2, 3 3 2");
        /* It can be named by what it was sent with. */
        expect_run(fixture, 0, "replay",
                   sql_text(fixture->conn, "SELECT line->>'id' FROM printed WHERE line->>'payload'"
                                           " = '2' LIMIT 1"));
        drain_printed(fixture, 0);
        assert_string_equal(sql_text(fixture->conn, LEFT), "1 10 2, 2 2 3, 3 3 2");
    }
}

/* Of two copies of one row, the one that was made first is tried first. */
FIXTURE_TEST(a_second_copy_of_a_row_waits_behind_the_first)
{
    for (int i = 0; i < 2; i++) {
        send_corrected(fixture, orders[i]);
        expect_run(fixture, 0, "replay", "2");
        sql(fixture->conn, "UPDATE outbox_parked SET state = 'dead', due = NULL, error = 'tried'"
                           " WHERE replayed_at IS NOT NULL");
        expect_run(fixture, 0, "replay", "2");
        drain_printed(fixture, 1);
        assert_string_equal(
            sql_text(fixture->conn,
                     "SELECT string_agg(state, ' ' ORDER BY seq) FROM outbox_parked WHERE"
                     " replayed_at IS NOT NULL"),
            i == 0 ? "dead behind" : "dead sent");
        expect_run(fixture, 0, "dead", "retry", "--all");
        drain_printed(fixture, 0);
        assert_string_equal(sql_text(fixture->conn, LEFT), "1 10 1, 2 2 3, 3 3 1");
        expect_run(fixture, 0, "dead", "list");
        /* The other way round: the first copy is dropped. */
        expect_run(fixture, 0, "replay", "2");
        sql(fixture->conn, "UPDATE outbox_parked SET state = 'dead', due = NULL, error = 'tried'"
                           " WHERE replayed_at IS NOT NULL AND sent_at IS NULL");
        expect_run(fixture, 0, "replay", "2");
        expect_run(fixture, 0, "dead", "drop", "--all");
        drain_printed(fixture, 0);
        assert_string_equal(sql_text(fixture->conn, LEFT), "1 10 1, 2 2 4, 3 3 1");
    }
}

/* ---- a table that has changed since a row was kept as a whole */

#define DIVIDED "payload = \"payload\"\ntype = \"((10/div)::text)\"\n"

/* Row 2 waits as a whole, row 4 behind it; the table changes, and the configuration with it. */
static void change_table(struct fixture *fixture, const char *order, const char *columns,
                         const char *ddl, const char *now_columns)
{
    char outbox[64];

    (void)snprintf(outbox, sizeof outbox, "order = \"%s\"\n", order);
    open_table(fixture, outbox, columns, STDOUT_SINK "\n");
    sql(fixture->conn, "INSERT INTO outbox (key, payload, div, spare) SELECT 'k' || n %% 2,"
                       " to_jsonb(n), CASE n WHEN 2 THEN 0 ELSE n END, 'old' FROM"
                       " generate_series(1, 4) n");
    drain_printed(fixture, 1);
    sql(fixture->conn, "%s", ddl);
    sql(fixture->conn, "UPDATE outbox_parked SET raw = jsonb_set(raw::jsonb, '{div}', '\"5\"')"
                       " WHERE raw IS NOT NULL");
    write_relay_toml(fixture,
                     "[outbox]\nadopt = true\n%s[outbox.columns]\nheaders = \"\"\n%s"
                     "[relay]\npoll_interval = \"50ms\"\n" STDOUT_SINK "\n",
                     outbox, now_columns);
    expect_run(fixture, 0, "dead", "retry", "--all");
}

/* Types its UPDATE, with VALUE replaced, and retries. */
static void obey(struct fixture *fixture, const char *problem, const char *value)
{
    expect_run(fixture, 0, "dead", "show", "2");
    assert_says(fixture->process.out, problem);
    assert_says(fixture->process.out, "run this UPDATE, with what the column is to have");
    sql(fixture->conn, "%s",
        sql_text(fixture->conn,
                 "SELECT replace(substring(error FROM 'UPDATE .*'), 'VALUE', '%s')"
                 " FROM outbox_parked WHERE state = 'dead'",
                 value));
    expect_run(fixture, 0, "dead", "retry", "--all");
}

static void assert_2_left_before_4(struct fixture *fixture, const char *row_2, bool in_order)
{
    assert_string_equal(sql_text(fixture->conn, "SELECT concat(line->>'payload', ' ', line->>"
                                                "'type') FROM printed WHERE line->>'id' = (SELECT"
                                                " event_id::text FROM outbox_parked WHERE id = 2)"),
                        row_2);
    if (in_order)
        assert_number(fixture->conn, 3,
                      "SELECT (SELECT count(*) FROM printed WHERE line->>'key' ="
                      " 'k0') + (SELECT count(*) FROM printed p JOIN outbox_parked o"
                      " ON line->>'id' = event_id::text WHERE id = 4 AND place ="
                      " (SELECT max(place) FROM printed))");
}

FIXTURE_TEST(a_row_that_was_kept_as_a_whole_is_sent_with_what_it_had_or_not_at_all)
{
    static const struct {
        const char *columns;
        const char *ddl;
        const char *now_columns;
        const char *problem; /* NULL: it is sent */
        const char *value;
        const char *sent;
    } cases[] = {
        {DIVIDED, "ALTER TABLE outbox RENAME payload TO body",
         "payload = \"body\"\ntype = \"((10/div)::text)\"\n", "it has no column body", "", "2 2"},
        {DIVIDED, "ALTER TABLE outbox RENAME payload TO \"bo\"\"dy\"",
         "payload = '(\"bo\"\"dy\")'\ntype = \"((10/div)::text)\"\n",
         "it has no column \"bo\"\"dy\"", "", "2 2"},
        {DIVIDED, "ALTER TABLE outbox ADD body jsonb; UPDATE outbox SET body = payload",
         "payload = \"body\"\ntype = \"((10/div)::text)\"\n", "it has no column body",
         "raw::json->''payload''", "2 2"},
        {DIVIDED, "ALTER TABLE outbox ADD kind text DEFAULT 'new'",
         "payload = \"payload\"\ntype = \"(coalesce(kind, '?'))\"\n", "it has no column kind",
         "NULL", "2 ?"},
        {DIVIDED,
         "ALTER TABLE outbox ADD kind text NOT NULL DEFAULT 'new', DROP spare, ALTER div TYPE"
         " bigint",
         DIVIDED, NULL, NULL, "2 2"},
        {DIVIDED, "ALTER TABLE outbox DROP payload",
         "payload = \"(to_jsonb(spare))\"\ntype = \"((10/div)::text)\"\n", NULL, NULL, "old 2"},
        {DIVIDED, "ALTER TABLE outbox ALTER div DROP DEFAULT, ALTER div TYPE text",
         "payload = \"payload\"\ntype = \"(div || '!')\"\n",
         "its column div had type integer, and has type text now", "''7''", "2 7!"},
        {"payload = \"(to_jsonb(outbox)->'spare')\"\ntype = \"((10/div)::text)\"\n",
         "ALTER TABLE outbox DROP spare",
         "payload = \"(to_jsonb(outbox)->'div')\"\ntype = \"((10/div)::text)\"\n",
         "the table has no column spare any more", "", "5 2"},
        {"payload = \"(to_jsonb(outbox)->'spare')\"\ntype = \"((10/div)::text)\"\n",
         "ALTER TABLE outbox ADD more text",
         "payload = \"(to_jsonb(outbox)->'div')\"\ntype = \"((10/div)::text)\"\n",
         "it has no column more", "NULL", "5 2"},
        {DIVIDED,
         "ALTER TABLE outbox ALTER payload TYPE bytea USING '1'; ALTER TABLE outbox_parked ALTER"
         " payload TYPE bytea USING convert_to(payload::text, 'UTF8')",
         "payload = \"(payload)\"\ntype = \"((10/div)::text)\"\n",
         "its column payload had type jsonb, and has type bytea now",
         "convert_to(raw::json->>''payload'', ''UTF8'')", "2 2"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        change_table(fixture, orders[i % 2], cases[i].columns, cases[i].ddl, cases[i].now_columns);
        if (i == 0) {
            expect_run(fixture, 0, "explain", "2");
            assert_says(fixture->process.out, cases[i].problem);
        }
        if (cases[i].problem != NULL) {
            drain_printed(fixture, 1);
            obey(fixture, cases[i].problem, cases[i].value);
        }
        drain_printed(fixture, 0);
        assert_2_left_before_4(fixture, cases[i].sent, i % 2 == 0);
    }
}

/* Nothing computes its values now, so nothing has looked at what reading it as a whole would call.
 */
FIXTURE_TEST(a_row_that_was_kept_as_a_whole_is_not_sent_without_expressions)
{
    change_table(fixture, "key", DIVIDED, "SELECT", "type = \"spare\"\n");
    drain_printed(fixture, 1);
    expect_run(fixture, 0, "dead", "show", "2");
    assert_says(fixture->process.out, "no value of [outbox.columns] is computed now");
    assert_number(fixture->conn, 2, "SELECT count(*) FROM printed");
}
