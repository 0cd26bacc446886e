/* The built program relaying to stdout: sharing, stopping, dying, and tables that misbehave. */
#include "integration/program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

FIXTURE(set_up, fixture_close)

FIXTURE_TEST(sigterm_settles_what_was_sent_and_exits_0)
{
    struct process *process = &fixture->process;
    long long sent;

    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT 't', to_jsonb(i)"
                       " FROM generate_series(1, 200000) i");
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1,
                    "SELECT EXISTS (SELECT FROM outbox WHERE sent_at IS NOT NULL)::int");
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    sent = sql_number(fixture->conn, "SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL");
    assert_int_equal(count_lines(process->out), sent);
}

#define SLEEPERS                                                                                   \
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"                     \
    " AND state = 'active' AND wait_event = 'PgSleep'"

FIXTURE_TEST(a_second_sigterm_ends_the_program_while_a_purge_hangs)
{
    struct process *process = &fixture->process;

    write_config(fixture, "retention = \"1s\"", STDOUT_SINK);
    sql(fixture->conn,
        "CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN PERFORM pg_sleep(60); RETURN OLD; END';"
        "CREATE TRIGGER hang BEFORE DELETE ON outbox FOR EACH ROW EXECUTE FUNCTION hang();"
        "INSERT INTO outbox (topic, sent_at) VALUES ('t', now() - interval '1 day')");
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1, SLEEPERS);
    assert_int_equal(kill(process->pid, SIGTERM), 0);
    process_await_words(process, "stopping");
    process_stop(process, SIGTERM);
    assert_number(fixture->conn, 1, SLEEPERS);
    expect(fixture, process->status, 1);
}

FIXTURE_TEST(run_waits_for_new_rows_and_three_relays_share_them)
{
    struct process relays[3];
    int lines = 0;

    for (int i = 0; i < 3; i++)
        process_start(&relays[i], NULL, "run", "-c", fixture->config, NULL);
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT 't', to_jsonb(i)"
                       " FROM generate_series(1, 5000) i");
    wait_for_number(fixture->conn, 5000, "SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL");
    for (int i = 0; i < 3; i++) {
        process_stop(&relays[i], SIGTERM);
        assert_int_equal(relays[i].status, 0);
        lines += count_lines(relays[i].out);
        process_free(&relays[i]);
    }
    assert_int_equal(lines, 5000);
}

FIXTURE_TEST(a_relay_killed_in_flight_loses_nothing)
{
    struct process *process = &fixture->process;

    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT 't', to_jsonb(i)"
                       " FROM generate_series(1, 100000) i");
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1,
                    "SELECT EXISTS (SELECT FROM outbox WHERE sent_at IS NOT NULL)::int");
    process_stop(process, SIGKILL);
    load_printed(fixture, process->out);
    expect(fixture, run_drain(fixture), 0);
    load_printed(fixture, process->out);
    assert_number(fixture->conn, 0, UNSENT);
    assert_all_printed(fixture);
    assert_true(sql_number(fixture->conn, "SELECT count(*) FROM printed") <=
                100000 + 2 * 500); /* lanes x batch */
}

/* A configuration with a NATS sink where nothing listens; port 1 is reserved. */
static void write_config_with_a_sink_that_is_away(struct fixture *fixture)
{
    write_config(fixture, "",
                 "[sink.bus]\ntype = \"nats\"\nstream = \"S\"\n"
                 "servers = [\"nats://127.0.0.1:1\"]");
}

FIXTURE_TEST(a_drain_ends_when_nothing_is_left_although_the_broker_is_away)
{
    write_config_with_a_sink_that_is_away(fixture);
    expect(fixture, run_drain(fixture), 0);
}

FIXTURE_TEST(a_drain_waits_for_a_broker_while_a_row_is_left)
{
    struct process *process = &fixture->process;

    write_config_with_a_sink_that_is_away(fixture);
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('t', '1')");
    process_start(process, NULL, "run", "--drain", "-c", fixture->config, NULL);
    process_await_words(process, "sink bus is away");
    assert_int_equal(kill(process->pid, 0), 0);
    sql(fixture->conn, "DELETE FROM outbox");
    process_wait(process);
    expect(fixture, process->status, 0);
}

FIXTURE_TEST(a_schema_problem_at_the_start_exits_3_with_the_remedy)
{
    sql(fixture->conn, "DROP TABLE outbox");
    expect_run(fixture, 3, "run");
    assert_says(fixture->process.err, "table \"public\".\"outbox\" does not exist");
    assert_says(fixture->process.err, "outbox-relay init");
}

FIXTURE_TEST(an_unreachable_database_is_waited_for)
{
    struct process *process = &fixture->process;

    (void)snprintf(fixture->url, sizeof fixture->url, "postgresql://postgres@127.0.0.1:1/x");
    write_config(fixture, "", STDOUT_SINK);
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(process, "error=\"database:");
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
}

FIXTURE_TEST(a_closed_stdout_ends_the_relay_with_the_broker_status)
{
    char command[1024];
    FILE *pipe;

    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT 't', to_jsonb(repeat('x', 1000))"
                       " FROM generate_series(1, 5000) i");
    (void)snprintf(command, sizeof command, "bash %s | tail -n 1",
                   harness_file("pipe.sh",
                                "%s run -c %s 2>/dev/null | head -n 1; echo ${PIPESTATUS[0]}\n",
                                harness_env("RELAY"), fixture->config));
    pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(command, sizeof command, pipe));
    (void)pclose(pipe);
    assert_string_equal(command, "4\n");
}

/* One lane is in the middle of its settlement while the other fails: its output file may not grow
 * any more. */
FIXTURE_TEST(the_first_signal_after_a_lane_has_failed_still_lets_the_others_settle)
{
    struct process *process = &fixture->process;
    const struct rlimit limited = {.rlim_cur = 64 * 1024, .rlim_max = RLIM_INFINITY};
    struct rlimit before;

    write_config(fixture, "", "batch = 1\nlanes = 2\n" STDOUT_SINK);
    sql(fixture->conn, "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
                       " 'BEGIN PERFORM pg_sleep(4); RETURN NEW; END';"
                       "CREATE TRIGGER slow BEFORE UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION"
                       " slow(); INSERT INTO outbox (topic) VALUES ('small')");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limited), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_DFL);
    wait_for_number(fixture->conn, 1,
                    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
                    " AND datname = current_database()");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT 'large',"
                       " to_jsonb(repeat('x', 1000000))");
    wait_for_number(fixture->conn, 1,
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                    " AND application_name ~ '^outbox-relay/.*/[12]$'");
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 4);
    assert_says(process->err, "File too large");
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM outbox WHERE topic = 'small'"
                  " AND sent_at IS NOT NULL");
}

FIXTURE_TEST(a_running_relay_purges_by_itself)
{
    struct process relay;

    write_config(fixture, "retention = \"1s\"", STDOUT_SINK);
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT 't', to_jsonb(i)"
                       " FROM generate_series(1, 3000) i");
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox");
    process_stop(&relay, SIGTERM);
    assert_int_equal(count_lines(relay.out), 3000);
    process_free(&relay);
}

FIXTURE_TEST(rows_that_were_marked_are_not_sent_again_by_a_relay_that_deletes)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT 't', to_jsonb(i)"
                       " FROM generate_series(1, 5) i");
    expect_drained(fixture, 0, 5);
    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, created_at, state, sent_at)"
                       " VALUES (6, gen_random_uuid(), 't', now(), 'sent', now())");
    write_config(fixture, "on_sent = \"delete\"", STDOUT_SINK);
    expect_run(fixture, 0, "check");
    assert_null(strstr(fixture->process.out, "sink out, \"t\""));
    assert_says(fixture->process.out, "warning: rows whose \"sent_at\" is set count as sent");
    expect_run(fixture, 0, "status");
    assert_says(fixture->process.out, "backlog  0");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('t', '\"new\"')");
    expect_drained(fixture, 0, 1);
    assert_says(fixture->process.out, "\"payload\":\"new\"");
    assert_says(fixture->process.err, "whose \"sent_at\" is set count as sent");
    assert_number(fixture->conn, 5, "SELECT count(*) FROM outbox");
    expect_run(fixture, 0, "purge", "--older-than", "0", "--dry-run");
    assert_says(fixture->process.out, "would purge 6");
    expect_run(fixture, 0, "purge", "--older-than", "0");
    assert_says(fixture->process.out, "purged 6");
}

/* In each round the janitor first releases rows that wait behind no other, and then purges. */
static void await_round(struct fixture *fixture)
{
    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, created_at, state)"
                       " VALUES (7, gen_random_uuid(), 't', now(), 'behind')");
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked");
}

FIXTURE_TEST(a_relay_that_deletes_leaves_what_was_marked)
{
    struct process relay;

    write_config(fixture, "on_sent = \"delete\"\nretention = \"1s\"", STDOUT_SINK);
    sql(fixture->conn, "INSERT INTO outbox (topic, sent_at) SELECT 't', now() - interval '1 hour'"
                       " FROM generate_series(1, 10) i");
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    await_round(fixture);
    await_round(fixture);
    process_stop(&relay, SIGTERM);
    assert_number(fixture->conn, 10, "SELECT count(*) FROM outbox");
    process_free(&relay);
}

/* Otherwise rows of such a table would never be relayed. */
FIXTURE_TEST(a_sent_at_that_every_row_has_is_not_the_relays)
{
    static const char *const definitions[] = {"NOT NULL", "DEFAULT now()"};

    write_config(fixture, "on_sent = \"delete\"", STDOUT_SINK);
    for (size_t i = 0; i < sizeof definitions / sizeof *definitions; i++) {
        sql(fixture->conn,
            "ALTER TABLE outbox DROP COLUMN sent_at;"
            " ALTER TABLE outbox ADD COLUMN sent_at timestamptz %s;"
            " INSERT INTO outbox (topic, sent_at) VALUES ('t', '2020-01-01')",
            definitions[i]);
        expect_run(fixture, 0, "purge", "--older-than", "0");
        expect_drained(fixture, 0, 1);
    }
}
