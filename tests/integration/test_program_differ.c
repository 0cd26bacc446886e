/* Relays of one table whose configurations differ. */
#include "integration/program.h"

#include <signal.h>

#define ROUTES(matches)                                                                            \
    STDOUT_SINK "\n[[route]]\nmatch = \"re:^(" matches ")\"\nsink = \"out\"\ntopic = \"{topic}\"\n"

#define SOON_MS 8000 /* for rows that another relay has to send */

static void write_keyed(struct fixture *fixture, const char *rest)
{
    write_relay_toml(fixture,
                     "[relay]\npoll_interval = \"50ms\"\n[retry]\nbackoff_max = \"5m\"\n%s", rest);
}

static void configure_old(struct fixture *fixture)
{
    write_keyed(fixture, ROUTES("order"));
}

static int set_up_old(void **state)
{
    return fixture_open(state, configure_old);
}

FIXTURE(set_up_old, fixture_close)

/* A relay of the same table with a configuration of its own. */
static const char *write_other(struct fixture *fixture, const char *rest)
{
    return harness_file("other.toml",
                        "[database]\nurl = \"%s\"\n[relay]\npoll_interval = \"50ms\"\n%s",
                        fixture->url, rest);
}

static void start_with(struct fixture *fixture, struct process *relay, const char *rest)
{
    process_start(relay, NULL, "run", "-c", write_other(fixture, rest), NULL);
}

/* Beside the relay, which is the fixture's process. */
static void expect_other(struct fixture *fixture, const char *command, const char *verb,
                         const char *option, const char *value)
{
    struct process other;

    (void)process_run(&other, NULL, command, verb, option, value, "-c", fixture->config, NULL);
    if (other.status != 0)
        fail_msg("%s %s: %s", command, verb, other.err);
    process_free(&other);
}

FIXTURE_TEST(a_row_that_only_a_newer_relay_routes_is_sent_by_it_soon)
{
    struct process old[2];
    struct process new;
    int64_t began_ms;

    for (int i = 0; i < 2; i++)
        process_start(&old[i], NULL, "run", "-c", fixture->config, NULL);
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload)"
                       " SELECT 'invoice.' || i, i, to_jsonb(i) FROM generate_series(1, 40) i");
    wait_for_number(fixture->conn, 40,
                    "SELECT count(*) FROM outbox_parked WHERE state = 'waiting' AND attempts = 0");
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload)"
                       " SELECT t, i, to_jsonb(n) FROM generate_series(1, 40) i,"
                       " (VALUES (1001, 'order.made'), (1002, 'invoice.paid')) x (n, t)"
                       " ORDER BY i, n");
    wait_for_number(fixture->conn, 120,
                    "SELECT count(*) FROM outbox_parked WHERE state IN ('waiting', 'behind')");
    began_ms = harness_now_ms();
    start_with(fixture, &new, ROUTES("order|invoice"));
    wait_for_number(fixture->conn, 120, "SELECT count(*) FROM outbox_parked WHERE state = 'sent'");
    assert_true(harness_now_ms() - began_ms < SOON_MS);
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload)"
                       " SELECT 'invoice.sent', i %% 40, to_jsonb(i)"
                       " FROM generate_series(2001, 4000) i");
    began_ms = harness_now_ms();
    wait_for_number(fixture->conn, 0,
                    "SELECT (SELECT count(*) FROM outbox WHERE sent_at IS NULL)"
                    " + (SELECT count(*) FROM outbox_parked WHERE state <> 'sent')");
    assert_true(harness_now_ms() - began_ms < SOON_MS);
    for (int i = 0; i < 2; i++) {
        process_stop(&old[i], SIGTERM);
        assert_int_equal(old[i].status, 0);
        assert_says(old[i].err, "no [[route]] matches topic");
        assert_says(old[i].err, "the configuration does not send these rows: they wait");
        load_printed(fixture, old[i].out);
        process_free(&old[i]);
    }
    process_stop(&new, SIGTERM);
    load_printed(fixture, new.out);
    process_free(&new);
    assert_number(fixture->conn, 2120, "SELECT count(*) FROM printed");
}

FIXTURE_TEST(what_a_sink_does_not_allow_waits_for_a_relay_that_does)
{
    struct process *old = &fixture->process;
    struct process new;
    int64_t began_ms;

    write_keyed(fixture, STDOUT_SINK "\nallow = [\"order.>\"]");
    process_free(old);
    process_start(old, NULL, "run", "-c", fixture->config, NULL);
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) SELECT 'invoice.' || i %% 30,"
                       " i, to_jsonb(i) FROM generate_series(1, 60) i");
    wait_for_number(fixture->conn, 60,
                    "SELECT count(*) FROM outbox_parked WHERE state = 'waiting' AND attempts = 0"
                    " AND waits_for LIKE 'a configuration that permits out/invoice._%'");
    began_ms = harness_now_ms();
    start_with(fixture, &new, STDOUT_SINK "\nallow = [\"*.>\"]");
    wait_for_number(fixture->conn, 60, "SELECT count(*) FROM outbox_parked WHERE state = 'sent'");
    assert_true(harness_now_ms() - began_ms < SOON_MS);
    process_stop(&new, SIGTERM);
    assert_int_equal(count_lines(new.out), 60);
    process_free(&new);
    process_stop(old, SIGTERM);
    assert_says(old->err, "the sink's allow list does not permit this topic");
}

/* A drain leaves what waits for a route, says so, and sends it once there is one. */
FIXTURE_TEST(a_drain_ends_with_rows_that_wait_for_a_route)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, key) VALUES ('invoice.sent', 'a'),"
                       " ('order.made', 'a'), ('order.made', 'b')");
    for (int i = 0; i < 2; i++) {
        expect_drained(fixture, 1, i == 0 ? 1 : 0);
    }
    expect_run(fixture, 0, "status");
    assert_says(fixture->process.out, "1 row waits for a configuration that routes invoice.sent: no"
                                      " [[route]] matches topic \"invoice.sent\"");
    expect_run(fixture, 0, "explain", "1");
    assert_says(fixture->process.out, "at the next try it would wait: no [[route]] matches");
    expect(fixture,
           run(fixture, "run", "--drain", "-c", write_other(fixture, ROUTES("order|invoice"))), 0);
    load_printed(fixture, fixture->process.out);
    assert_string_equal(sql_text(fixture->conn, "SELECT string_agg(line->>'topic', ' ' ORDER BY"
                                                " place) FROM printed"),
                        "invoice.sent order.made");
}

FIXTURE_TEST(an_operator_corrects_retries_or_drops_a_row_that_waits_for_a_route)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, key) VALUES ('invoice.sent', 'a'),"
                       " ('order.made', 'a'), ('invoice.sent', 'b'), ('order.made', 'b')");
    expect(fixture, run_drain(fixture), 1);
    expect_run(fixture, 0, "dead", "retry", "--all");
    assert_says(fixture->process.out, "0 rows will be tried again");
    sql(fixture->conn, "UPDATE outbox_parked SET topic = 'order.sent' WHERE id = 3");
    expect_run(fixture, 0, "dead", "retry", "1", "3");
    expect_drained(fixture, 1, 2);
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM outbox_parked WHERE id = 1"
                  " AND state = 'waiting' AND attempts = 0");
    expect_run(fixture, 0, "dead", "drop", "1");
    expect_drained(fixture, 0, 1);
}

/* Every lane of the relay has found that the rows wait for another configuration. */
FIXTURE_TEST(a_corrected_row_that_is_retried_is_sent_at_once_whatever_it_has_waited_for)
{
    static const char *const configs[] = {ROUTES("order"), STDOUT_SINK "\nallow = [\"order.>\"]"};
    struct process *relay = &fixture->process;

    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        int64_t began_ms;

        write_relay_toml(fixture, "[relay]\nlanes = 1\npoll_interval = \"50ms\"\n%s", configs[i]);
        process_free(relay);
        process_start(relay, NULL, "run", "-c", fixture->config, NULL);
        sql(fixture->conn,
            "INSERT INTO outbox (topic, key) VALUES ('nope.x', 'a'),"
            " ('nope.x', 'a'), ('order.made', 'a'), ('nope.x', 'b'), ('nope.y', 'c')");
        wait_for_number(fixture->conn, 5,
                        "SELECT count(*) FROM outbox_parked WHERE state IN ('waiting', 'behind')");
        sql(fixture->conn, "UPDATE outbox_parked SET topic = 'order.paid' WHERE key = 'a'"
                           " AND topic <> 'order.made'");
        began_ms = harness_now_ms();
        expect_other(fixture, "dead", "retry", "--topic", "order.paid");
        wait_for_number(fixture->conn, 3,
                        "SELECT count(*) FROM outbox_parked WHERE state = 'sent'");
        assert_true(harness_now_ms() - began_ms < SOON_MS);
        expect_other(fixture, "dead", "drop", "--topic", "nope.x");
        assert_string_equal(sql_text(fixture->conn, "SELECT string_agg(topic || ' ' || state, ' ')"
                                                    " FROM outbox_parked WHERE state <> 'sent'"),
                            "nope.y waiting");
        process_stop(relay, SIGTERM);
        load_printed(fixture, relay->out);
        assert_string_equal(sql_text(fixture->conn, "SELECT string_agg(line->>'topic', ' ' ORDER BY"
                                                    " place) FROM printed"),
                            "order.paid order.paid order.made");
        sql(fixture->conn, "TRUNCATE outbox, outbox_parked; DROP TABLE printed");
    }
}

/* A developer's relay, too, with a sink of its own. */
FIXTURE_TEST(relays_that_differ_are_named_with_what_differs)
{
    static const char another[] = "[sink.dev]\ntype = \"stdout\"\n[[route]]\nmatch = \"*\"\nsink ="
                                  " \"dev\"\n";
    const char *other = write_other(fixture, another);
    struct process relays[3];

    for (int i = 0; i < 3; i++)
        process_start(&relays[i], NULL, "run", "-c", i < 2 ? fixture->config : other, NULL);
    for (int i = 0; i < 3; i++)
        process_await_words(&relays[i], "relaying");
    expect_run(fixture, 0, "status");
    assert_says(fixture->process.out, " and 1 like it in:");
    assert_says(fixture->process.out, "routes; sink dev,");
    expect_run(fixture, 0, "status", "--json");
    assert_says(fixture->process.out, "in: routes; sink dev, which the other has not; sink out,"
                                      " which it has not");
    assert_says(fixture->process.out, "\"config\":\"");
    expect_run(fixture, 0, "check", "--json");
    assert_says(fixture->process.out, " and 1 like it: the same configuration");
    assert_says(fixture->process.out, "in: routes; sink out, which the other has not; sink dev,");
    expect(fixture, run(fixture, "check", "--json", "-c", other), 0);
    assert_says(fixture->process.out, "other.toml differs from relay ");
    for (int i = 0; i < 3; i++) {
        process_stop(&relays[i], SIGTERM);
        process_free(&relays[i]);
    }
    expect_run(fixture, 0, "check", "--json");
    assert_null(strstr(fixture->process.out, "the same configuration"));
}
