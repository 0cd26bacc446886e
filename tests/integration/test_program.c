/* The built program as its users see it: commands, exit statuses, messages. Brokers have tests of
 * their own; here the stdout sink stands for one, and PostgreSQL is real. */
#include "integration/program.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FIXTURE(set_up, fixture_close)

FIXTURE_TEST(emit_then_drain_prints_the_event_and_marks_the_row)
{
    json_t *event;

    expect_run(fixture, 0, "emit", "order.paid", "o-1", "{\"amount\": 12.50}", "--type",
               "OrderPaid");
    expect_drained(fixture, 0, 1);
    assert_says(fixture->process.out, "\"payload\":{\"amount\": 12.50}");
    event = json_loads(fixture->process.out, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(event, "topic")), "order.paid");
    assert_string_equal(json_string_value(json_object_get(event, "key")), "o-1");
    assert_string_equal(json_string_value(json_object_get(event, "type")), "OrderPaid");
    assert_string_equal(json_string_value(json_object_get(event, "id")),
                        sql_text(fixture->conn, "SELECT event_id FROM outbox"));
    json_decref(event);
    assert_number(fixture->conn, 0, UNSENT);
}

FIXTURE_TEST(emit_reads_a_payload_and_ndjson_from_stdin)
{
    process_free(&fixture->process);
    expect(fixture,
           process_run(&fixture->process, "{\"n\": 12345678901234567890.10}", "emit", "a", "k", "-",
                       "-c", fixture->config, NULL),
           0);
    process_free(&fixture->process);
    expect(fixture,
           process_run(&fixture->process,
                       "{\"topic\": \"b\", \"key\": \"k\", \"type\": \"T\", \"payload\": [1.50],"
                       " \"headers\": {\"h\": \"v\"}}\n{\"topic\": \"c\"}\n",
                       "emit", "-c", fixture->config, NULL),
           0);
    assert_string_equal(sql_text(fixture->conn, "SELECT string_agg(concat_ws('|', topic, key, type,"
                                                " payload, headers), ';' ORDER BY id) FROM outbox"),
                        "a|k|{\"n\": 12345678901234567890.10};b|k|T|[1.50]|{\"h\": \"v\"};c");
}

/* `script` gives it a terminal, which ends each line with \r\n. */
FIXTURE_TEST(emit_says_on_a_terminal_what_it_has_inserted)
{
    const char *relay = harness_env("RELAY");
    const char *script = harness_file("emit.sh",
                                      "script -qec \"%s emit a k 1 -c %s\" /dev/null </dev/null\n"
                                      "printf '{\"topic\": \"a\"}\\n{\"topic\": \"b\"}\\n\\004' |"
                                      " script -qec \"%s emit -c %s\" /dev/null\n",
                                      relay, fixture->config, relay, fixture->config);
    char command[512];
    char said[4096];
    size_t len;
    FILE *pipe;

    (void)snprintf(command, sizeof command, "sh %s", script);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    len = fread(said, 1, sizeof said - 1, pipe);
    (void)pclose(pipe);
    said[len] = '\0';
    assert_says(said, "1\r\n1 event inserted into public.outbox; `outbox-relay explain` says where"
                      " relays send it\r\n");
    assert_says(said, "reading from the terminal, until Ctrl-D\r\n");
    assert_says(said, "2\r\n3\r\n2 events inserted into");
}

FIXTURE_TEST(a_field_that_emit_does_not_know_inserts_nothing_and_is_named)
{
    process_free(&fixture->process);
    expect(fixture,
           process_run(&fixture->process,
                       "{\"topic\":\"a\",\"payload\":{}}\n{\"topic\":\"a\",\"paylod\":{}}\n",
                       "emit", "-c", fixture->config, NULL),
           2);
    assert_says(fixture->process.err, "stdin:2:");
    assert_says(fixture->process.err, "paylod");
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox");
}

/* Cut at the NUL byte, both would be inserted. */
FIXTURE_TEST(a_nul_byte_in_stdin_is_refused_and_inserts_nothing)
{
    static const char *const inputs[][2] = {
        {"{\"n\": 1}\\0 {\"n\": 2}", "a k -"},
        {"{\"topic\": \"a\"}\\0{\"topic\": \"b\"}\\n", ""},
    };

    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        char command[1024];
        FILE *pipe;
        const char *script =
            harness_file("nul.sh", "printf '%s' | %s emit %s -c %s 2>/dev/null; echo $?\n",
                         inputs[i][0], harness_env("RELAY"), inputs[i][1], fixture->config);

        (void)snprintf(command, sizeof command, "bash %s", script);
        pipe = popen(command, "r");
        assert_non_null(pipe);
        assert_non_null(fgets(command, sizeof command, pipe));
        (void)pclose(pipe);
        assert_string_equal(command, "2\n");
        assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox");
    }
}

TEST(drain_leaves_rows_that_wait_or_are_dead_with_status_1_and_they_can_be_listed_and_dropped)
{
    struct fixture *fixture = *state;

    write_config(fixture, "",
                 "[sink.out]\ntype = \"stdout\"\n[[route]]\nmatch = \"good.*\"\nsink = \"out\"");
    sql(fixture->conn,
        "INSERT INTO outbox (topic, payload, headers) VALUES ('good.a', '1', NULL),"
        " ('bad', '2', NULL), ('good.b', '3', NULL), (E'a\\nb\\033[31m', '4', '{\"x\": [1]}')");
    expect_drained(fixture, 1, 2);
    assert_says(fixture->process.err, "no [[route]] matches topic \"bad\"");
    expect_run(fixture, 0, "dead", "list");
    assert_int_equal(count_lines(fixture->process.out), 1 + 2);
    assert_says(fixture->process.out, "a\\nb\\x1b[31m");
    expect_run(fixture, 0, "dead", "list", "--json");
    assert_says(fixture->process.out, "\"error\":\"no [[route]] matches topic \\\"bad\\\"\"");
    expect_run(fixture, 0, "dead", "drop", "2");
    expect_run(fixture, 1, "dead", "drop", "2");
    expect_run(fixture, 0, "dead", "drop", "--all");
    assert_says(fixture->process.out, "dropped 1");
    expect(fixture, run_drain(fixture), 0);
}

/* Of others' sessions an ordinary role sees the name and nothing else. */
FIXTURE_TEST(status_shows_the_lanes_to_a_role_that_may_not_see_their_sessions)
{
    const char *at = strchr(fixture->url, '@');
    char config[256];
    int64_t began_ms = harness_now_ms();
    struct process relay;
    json_t *status;
    json_t *lane;

    (void)snprintf(config, sizeof config, "%s",
                   harness_file("onlooker.toml",
                                "[database]\nurl = \"postgresql://onlooker%s\"\n[outbox]\n"
                                "order = \"none\"\n" STDOUT_SINK "\n",
                                at));
    sql(fixture->conn, "SET client_min_messages = warning; DROP ROLE IF EXISTS onlooker;"
                       " CREATE ROLE onlooker LOGIN;"
                       " GRANT SELECT ON outbox, outbox_parked, outbox_control TO onlooker");
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 2,
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE"
                    " 'outbox-relay/%/_' AND datname = current_database()");
    do { /* until the session that answers is there, too */
        expect(fixture, run(fixture, "status", "--json", "-c", config), 0);
    } while (strstr(fixture->process.out, "does not answer") != NULL &&
             harness_now_ms() - began_ms < HARNESS_WAIT_MS);
    status = json_loads(fixture->process.out, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(status, "relays")), 1);
    assert_int_equal(json_integer_value(json_object_get(status, "lanes")), 2);
    lane = json_array_get(json_object_get(status, "lane_states"), 1);
    assert_int_equal(json_integer_value(json_object_get(lane, "lane")), 2);
    assert_true(json_is_string(json_object_get(lane, "state"))); /* the relay itself has answered */
    json_decref(status);
    process_stop(&relay, SIGTERM);
    process_free(&relay);
    sql(fixture->conn, "DROP OWNED BY onlooker; DROP ROLE onlooker");
}

FIXTURE_TEST(a_status_that_cannot_be_written_is_a_failure_that_is_named)
{
    char line[1024];
    FILE *pipe;

    (void)snprintf(line, sizeof line, "bash %s",
                   harness_file("full.sh", "%s status -c %s 2>&1 >/dev/full; echo $?\n",
                                harness_env("RELAY"), fixture->config));
    pipe = popen(line, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof line, pipe));
    assert_string_equal(line, "outbox-relay: stdout: No space left on device\n");
    assert_non_null(fgets(line, sizeof line, pipe));
    assert_string_equal(line, "1\n");
    (void)pclose(pipe);
}

FIXTURE_TEST(purge_deletes_only_sent_rows_that_are_old_enough)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, sent_at) SELECT 't', now() - interval '8 days'"
                       " FROM generate_series(1, 2500)");
    sql(fixture->conn, "INSERT INTO outbox (topic, sent_at) VALUES ('t', now()), ('t', NULL)");
    expect_run(fixture, 0, "purge", "--dry-run");
    assert_says(fixture->process.out, "would purge 2500");
    expect_run(fixture, 0, "purge");
    assert_says(fixture->process.out, "purged 2500");
    assert_number(fixture->conn, 2, "SELECT count(*) FROM outbox");
}

/* As those of a sink that is away, of which one was sent late: a purge reads the lowest ids first,
 * a page at a time. */
FIXTURE_TEST(unsent_rows_keep_no_later_row_from_a_purge)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, sent_at)"
        " SELECT 't', CASE WHEN i = 7 THEN now() WHEN i > 2500 AND i %% 2 = 0 THEN now() - interval"
        " '8 days' END FROM generate_series(1, 5500) i;"
        " INSERT INTO outbox (topic, sent_at) SELECT 't', now() FROM generate_series(1, 1500)");
    expect_run(fixture, 0, "purge");
    assert_says(fixture->process.out, "purged 1500");
    assert_number(fixture->conn, 5500, "SELECT count(*) FROM outbox");
}

FIXTURE_TEST(a_row_that_becomes_unsent_while_a_purge_waits_for_it_is_kept)
{
    PGconn *other = harness_connect(fixture->url);

    sql(fixture->conn, "INSERT INTO outbox (topic, sent_at) SELECT 't', now() - interval '8 days'"
                       " FROM generate_series(1, 3)");
    sql(other, "BEGIN; UPDATE outbox SET sent_at = NULL WHERE id = 2");
    process_start(&fixture->process, NULL, "purge", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1,
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                    " AND wait_event_type = 'Lock'");
    sql(other, "COMMIT");
    PQfinish(other);
    process_wait(&fixture->process);
    expect(fixture, fixture->process.status, 0);
    assert_number(fixture->conn, 1, "SELECT count(*) FROM outbox WHERE id = 2 AND sent_at IS NULL");
    assert_number(fixture->conn, 1, "SELECT count(*) FROM outbox");
}

FIXTURE_TEST(mistakes_on_the_command_line_exit_2)
{
    expect(fixture, run(fixture, "rnu"), 2);
    assert_says(fixture->process.err, "did you mean \"run\"?");
    expect(fixture, run(fixture, "run", "--drian"), 2);
    assert_says(fixture->process.err, "did you mean \"--drain\"? Unknown option \"--drian\"");
    expect(fixture, run(fixture, "run", "--frobnicate"), 2);
    assert_says(fixture->process.err, "outbox-relay run: unknown option \"--frobnicate\"");
    expect(fixture, run(fixture, "-c", "relay.toml", "status"), 2);
    assert_says(fixture->process.err,
                "options follow the command: outbox-relay status -c relay.toml\n");
    expect(fixture, run(fixture, "run", "--json"), 2);
    expect(fixture, run(fixture, "dead"), 2);
    expect(fixture, run(fixture, "dead", "revive"), 2);
    expect(fixture, run(fixture, "run", "-c", "/nonexistent/relay.toml"), 2);
    assert_says(fixture->process.err, "cannot open: No such file or directory");
    expect_run(fixture, 2, "emit", "t", "k", "{\"n\": }");
    assert_says(fixture->process.err, "the payload is not JSON: ");
    assert_says(fixture->process.err, "SQLSTATE 22P02");
    expect_run(fixture, 2, "purge", "--older-than", "106751991167d");
    assert_says(fixture->process.err, "before the earliest date of PostgreSQL");
    expect_run(fixture, 2, "init", "--grant", "");
    expect(fixture, run(fixture, "help"), 0);
    expect(fixture, run(fixture, "run", "--help"), 0);
    expect(fixture, run(fixture, "version"), 0);
    expect(fixture, run(fixture, "config", "--defaults"), 0);
    assert_says(fixture->process.out, "[outbox]");
}

/* What would be accepted and then ignored. */
FIXTURE_TEST(an_option_that_has_no_effect_exits_2)
{
    expect_run(fixture, 2, "emit", "--type", "T");
    assert_says(fixture->process.err, "--type is for a TOPIC; a line has its own \"type\"");
    expect_run(fixture, 2, "audit", "--rate", "5");
    assert_says(fixture->process.err, "--rate is that of --repair");
    expect(fixture, run(fixture, "config", "--defaults", "--preset", "debezium"), 2);
    assert_says(fixture->process.err, "give --defaults or --preset, not both");
    expect_run(fixture, 2, "status", "--lanes", "--max-dead", "0");
    assert_says(fixture->process.err, "status with a limit prints what is above it, no lanes");
    expect_run(fixture, 2, "pause", "--reason", "why");
    assert_says(fixture->process.err, "option does not apply here: \"reason\"");
}

#define NATS "[sink.bus]\ntype = \"nats\"\nservers = [\"nats://127.0.0.1:1\"]\nstream = \"S\"\n"
#define KAFKA "[sink.bus]\ntype = \"kafka\"\nbrokers = [\"127.0.0.1:1\"]\n"

static void assert_check_and_run_exit(struct fixture *fixture, int status, const char *says)
{
    expect_run(fixture, status, "check");
    assert_says(fixture->process.out, says);
    expect_run(fixture, status, "run");
    assert_says(fixture->process.err, says);
}

/* check && run in a script: the same problem must have the same status. */
FIXTURE_TEST(a_file_that_is_missing_is_a_problem_of_the_configuration_to_every_command)
{
    static const char *const sinks[][2] = {
        {NATS "username = \"u\"\npassword_file = \"/nope\"",
         "[sink.bus] password_file: /nope: No such file"},
        {NATS "token_file = \"/nope\"", "[sink.bus] token_file: /nope: No such file"},
        {NATS "credentials_file = \"/nope\"", "[sink.bus] credentials_file: /nope: No such file"},
        {KAFKA "[sink.bus.properties]\n\"sasl.password_file\" = \"/nope\"",
         "[sink.bus.properties] \"sasl.password_file\": /nope: No such file"},
        {KAFKA "[sink.bus.properties]\n\"security.protocol\" = \"ssl\"\n"
               "\"ssl.ca.location\" = \"/nope\"",
         "[sink.bus]: ssl.ca.location failed"},
    };

    for (size_t i = 0; i < sizeof sinks / sizeof sinks[0]; i++) {
        write_config(fixture, "", sinks[i][0]);
        assert_check_and_run_exit(fixture, 2, sinks[i][1]);
    }
    write_relay_toml(fixture, "password_file = \"/nope\"\n" STDOUT_SINK);
    assert_check_and_run_exit(fixture, 2, "database.password_file /nope: No such file");
    expect_run(fixture, 2, "status");
}

/* No server is asked, so no waiting mends it. */
FIXTURE_TEST(what_libpq_itself_refuses_is_reported_at_the_start)
{
    static const char *const variables[][2] = {{"PGPORT", "99999999"}, {"PGSSLMODE", "bogus"}};

    (void)snprintf(
        fixture->config, sizeof fixture->config, "%s",
        harness_file("relay.toml", "[database]\nurl = \"host=127.0.0.1\"\n" STDOUT_SINK "\n"));
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        assert_int_equal(setenv(variables[i][0], variables[i][1], 1), 0);
        assert_check_and_run_exit(fixture, 3, "database: invalid ");
        assert_int_equal(unsetenv(variables[i][0]), 0);
    }
}
