/* A row that was kept as a whole is replayed as it was sent, and a second copy of a row waits
 * behind the first. */
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
