/* Inserts wake an idle relay. The poll interval is a minute, so a row that arrives within the
 * deadline of a test was not found by polling. */
#include "integration/program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

FIXTURE(set_up, fixture_close)

#define LISTENERS                                                                                  \
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"                     \
    " AND application_name LIKE 'outbox-relay/%/watch'"

static void poll_every(struct fixture *fixture, const char *interval, const char *order)
{
    write_relay_toml(fixture,
                     "[outbox]\norder = \"%s\"\n[relay]\n"
                     "poll_interval = \"%s\"\n" STDOUT_SINK "\n",
                     order, interval);
}

static void begin(struct fixture *fixture)
{
    poll_every(fixture, "60s", "none");
    expect_run(fixture, 0, "init", "--notify");
}

static void start_relay(struct fixture *fixture, struct process *process)
{
    if (process == &fixture->process)
        process_free(process); /* what a command before it has left */
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
}

static void stop_relay(struct fixture *fixture, struct process *process)
{
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
}

static void insert_and_await(struct fixture *fixture)
{
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t')");
    wait_for_number(fixture->conn, 0, UNSENT);
}

static void wake_ten_times(struct fixture *fixture)
{
    start_relay(fixture, &fixture->process);
    for (int i = 0; i < 10; i++) {
        wait_for_number(fixture->conn, 1, ARMED);
        insert_and_await(fixture);
    }
    stop_relay(fixture, &fixture->process);
    assert_int_equal(count_lines(fixture->process.out), 10);
}

FIXTURE_TEST(an_insert_wakes_an_idle_relay_each_time)
{
    begin(fixture);
    wake_ten_times(fixture);
}

FIXTURE_TEST(a_relay_whose_listening_session_ends_listens_again)
{
    long long pid;
    char another[256];

    begin(fixture);
    start_relay(fixture, &fixture->process);
    wait_for_number(fixture->conn, 1, ARMED);
    pid = sql_number(fixture->conn, "SELECT pid FROM pg_stat_activity WHERE datname ="
                                    " current_database() AND application_name LIKE"
                                    " 'outbox-relay/%%/watch'");
    assert_number(fixture->conn, 1, "SELECT pg_terminate_backend(%lld)::int", pid);
    (void)snprintf(another, sizeof another, ARMED " AND l.pid <> %lld", pid);
    wait_for_number(fixture->conn, 1, another);
    insert_and_await(fixture);
    stop_relay(fixture, &fixture->process);
    assert_null(strstr(fixture->process.err, " error "));
}

FIXTURE_TEST(without_the_trigger_rows_are_found_by_polling)
{
    poll_every(fixture, "250ms", "none");
    start_relay(fixture, &fixture->process);
    for (int i = 0; i < 5; i++)
        insert_and_await(fixture);
    assert_number(fixture->conn, 0, ARMED);
    stop_relay(fixture, &fixture->process);
}

FIXTURE_TEST(a_trigger_that_goes_is_noticed_by_a_relay_that_relies_on_it)
{
    begin(fixture);
    poll_every(fixture, "250ms", "none");
    start_relay(fixture, &fixture->process);
    wait_for_number(fixture->conn, 1, ARMED);
    sql(fixture->conn, "DROP TRIGGER outbox_notify ON outbox; DROP FUNCTION outbox_notify");
    wait_for_number(fixture->conn, 0, ARMED);
    insert_and_await(fixture);
    stop_relay(fixture, &fixture->process);
}

/* The insert does not notify, since no relay was armed when it began; and while it is open the
 * relay cannot arm. */
FIXTURE_TEST(an_insert_that_was_open_before_the_relay_came_is_not_lost)
{
    PGconn *open = harness_connect(fixture->url);

    begin(fixture);
    sql(open, "BEGIN; INSERT INTO outbox (topic) VALUES ('t')");
    start_relay(fixture, &fixture->process);
    wait_for_number(fixture->conn, 1, LISTENERS);
    insert_and_await(fixture);
    assert_number(fixture->conn, 0, ARMED);
    sql(open, "COMMIT");
    wait_for_number(fixture->conn, 1, ARMED);
    wait_for_number(fixture->conn, 0, UNSENT);
    PQfinish(open);
    stop_relay(fixture, &fixture->process);
    assert_int_equal(count_lines(fixture->process.out), 2);
}

FIXTURE_TEST(an_insert_that_stays_open_wakes_the_relay_when_it_commits)
{
    PGconn *open = harness_connect(fixture->url);

    begin(fixture);
    start_relay(fixture, &fixture->process);
    wait_for_number(fixture->conn, 1, ARMED);
    sql(open, "BEGIN; INSERT INTO outbox (topic) VALUES ('t')");
    insert_and_await(fixture);
    wait_for_number(fixture->conn, 1, ARMED);
    sql(open, "COMMIT");
    wait_for_number(fixture->conn, 0, UNSENT);
    PQfinish(open);
    stop_relay(fixture, &fixture->process);
}

FIXTURE_TEST(a_relay_takes_over_when_the_armed_one_is_killed)
{
    struct process relays[2];
    int armed;
    char name[64];

    begin(fixture);
    start_relay(fixture, &relays[0]);
    start_relay(fixture, &relays[1]);
    wait_for_number(fixture->conn, 2, LISTENERS);
    for (int i = 0; i < 10; i++) {
        wait_for_number(fixture->conn, 1, ARMED);
        insert_and_await(fixture);
    }
    wait_for_number(fixture->conn, 1, ARMED);
    (void)snprintf(name, sizeof name, ":%d/", (int)relays[0].pid);
    armed = sql_number(fixture->conn,
                       ARMED " AND l.pid IN (SELECT pid FROM pg_stat_activity WHERE"
                             " strpos(application_name, '%s') > 0)",
                       name) == 1
                ? 0
                : 1;
    process_stop(&relays[armed], SIGKILL);
    process_free(&relays[armed]);
    wait_for_number(fixture->conn, 1, LISTENERS);
    wait_for_number(fixture->conn, 1, ARMED);
    insert_and_await(fixture);
    stop_relay(fixture, &relays[1 - armed]);
    process_free(&relays[1 - armed]);
}

FIXTURE_TEST(a_relay_that_is_frozen_keeps_the_lock_no_longer_than_its_lease)
{
    if (PQserverVersion(fixture->conn) < 140000)
        skip(); /* no idle_session_timeout */
    begin(fixture);
    start_relay(fixture, &fixture->process);
    wait_for_number(fixture->conn, 1, ARMED);
    assert_int_equal(kill(fixture->process.pid, SIGSTOP), 0);
    assert_int_equal(waitpid(fixture->process.pid, NULL, WUNTRACED), fixture->process.pid);
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t')");
    wait_for_number(fixture->conn, 0, ARMED);
    assert_int_equal(kill(fixture->process.pid, SIGCONT), 0);
    wait_for_number(fixture->conn, 0, UNSENT);
    wait_for_number(fixture->conn, 1, ARMED);
    insert_and_await(fixture);
    stop_relay(fixture, &fixture->process);
}

FIXTURE_TEST(an_inserter_needs_no_privilege_beyond_the_insert)
{
    begin(fixture);
    sql(fixture->conn, "SET client_min_messages = warning; DROP ROLE IF EXISTS shopkeeper;"
                       " CREATE ROLE shopkeeper; GRANT INSERT ON outbox TO shopkeeper;"
                       " REVOKE ALL ON FUNCTION outbox_notify() FROM PUBLIC");
    sql(fixture->conn, "SET ROLE shopkeeper; INSERT INTO outbox (topic) VALUES ('t'); RESET ROLE");
    start_relay(fixture, &fixture->process);
    wait_for_number(fixture->conn, 1, ARMED);
    sql(fixture->conn, "SET ROLE shopkeeper; INSERT INTO outbox (topic) VALUES ('t'); RESET ROLE");
    wait_for_number(fixture->conn, 0, UNSENT);
    stop_relay(fixture, &fixture->process);
    sql(fixture->conn, "DROP OWNED BY shopkeeper; DROP ROLE shopkeeper");
}

FIXTURE_TEST(init_adds_the_trigger_once_and_check_reports_it)
{
    expect_run(fixture, 0, "check");
    assert_says(fixture->process.out, "note: no trigger notifies of inserts");
    assert_says(fixture->process.out, "  hint: outbox-relay init --notify\n");
    for (int i = 0; i < 2; i++) {
        expect_run(fixture, 0, "init", "--notify");
        assert_number(fixture->conn, 1,
                      "SELECT count(*) FROM pg_trigger WHERE tgrelid ="
                      " 'outbox'::regclass");
    }
    expect_run(fixture, 0, "check");
    assert_says(fixture->process.out, "ok: inserts wake idle relays (trigger \"outbox_notify\")");
    sql(fixture->conn, "ALTER TABLE outbox DISABLE TRIGGER outbox_notify");
    expect_run(fixture, 0, "check");
    assert_says(fixture->process.out,
                "  hint: ALTER TABLE \"public\".\"outbox\" ENABLE TRIGGER \"outbox_notify\";\n");
}

FIXTURE_TEST(what_init_prints_makes_the_trigger)
{
    sql(fixture->conn, "DROP TABLE IF EXISTS outbox, outbox_parked, outbox_control, outbox_slice");
    expect_run(fixture, 0, "init", "--print", "--notify");
    sql(fixture->conn, "%s", fixture->process.out);
    expect_run(fixture, 0, "check");
    assert_says(fixture->process.out, "ok: inserts wake idle relays");
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t')");
}
