/* The built program as its users see it: commands, exit statuses, messages. Brokers have tests of
 * their own; here the stdout sink stands for one, and PostgreSQL is real. */
#include "integration/harness.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_config(struct fixture *fixture, const char *outbox, const char *rest)
{
    (void)snprintf(
        fixture->config, sizeof fixture->config, "%s",
        harness_file("relay.toml",
                     "[database]\nurl = \"%s\"\n[outbox]\norder = \"none\"\n%s\n[relay]\n"
                     "poll_interval = \"20ms\"\n%s\n",
                     fixture->url, outbox, rest));
}

static void configure(struct fixture *fixture)
{
    write_config(fixture, "", "[sink.out]\ntype = \"stdout\"");
}

static int set_up(void **state)
{
    return fixture_open(state, configure);
}

static int count_lines(const char *text)
{
    int lines = 0;

    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

static void emit_then_drain_prints_the_event_and_marks_the_row(void **state)
{
    struct fixture *fixture = *state;
    json_t *event;

    expect(fixture,
           run(fixture, "emit", "order.paid", "o-1", "{\"amount\": 12.50}", "--type", "OrderPaid",
               "-c", fixture->config),
           0);
    expect(fixture, run(fixture, "run", "--drain", "-c", fixture->config), 0);
    assert_int_equal(count_lines(fixture->process.out), 1);
    assert_says(fixture->process.out, "\"payload\":{\"amount\": 12.50}");
    event = json_loads(fixture->process.out, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(event, "topic")), "order.paid");
    assert_string_equal(json_string_value(json_object_get(event, "key")), "o-1");
    assert_string_equal(json_string_value(json_object_get(event, "type")), "OrderPaid");
    assert_string_equal(json_string_value(json_object_get(event, "id")),
                        sql_text(fixture->conn, "SELECT event_id FROM outbox"));
    json_decref(event);
    assert_int_equal(sql_number(fixture->conn, "SELECT count(*) FROM outbox WHERE sent_at IS NULL"),
                     0);
}

static void emit_reads_a_payload_and_ndjson_from_stdin(void **state)
{
    struct fixture *fixture = *state;

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

static void one_bad_line_inserts_nothing_and_is_named(void **state)
{
    struct fixture *fixture = *state;

    process_free(&fixture->process);
    expect(fixture,
           process_run(&fixture->process, "{\"topic\": \"a\"}\n{\"topic\": }\n", "emit", "-c",
                       fixture->config, NULL),
           3);
    assert_says(fixture->process.err, "stdin:2:");
    assert_int_equal(sql_number(fixture->conn, "SELECT count(*) FROM outbox"), 0);
}

static void drain_leaves_dead_rows_with_status_1_and_they_can_be_listed_and_dropped(void **state)
{
    struct fixture *fixture = *state;

    write_config(fixture, "",
                 "[sink.out]\ntype = \"stdout\"\n[[route]]\nmatch = \"good.*\"\nsink = \"out\"");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('good.a', '1'), ('bad', '2'),"
                       " ('good.b', '3'), (E'a\\nb\\033[31m', '4')");
    expect(fixture, run(fixture, "run", "--drain", "-c", fixture->config), 1);
    assert_int_equal(count_lines(fixture->process.out), 2);
    assert_says(fixture->process.err, "no [[route]] matches topic \"bad\"");
    expect(fixture, run(fixture, "dead", "list", "-c", fixture->config), 0);
    assert_int_equal(count_lines(fixture->process.out), 2);
    assert_says(fixture->process.out, "a\\nb\\x1b[31m");
    expect(fixture, run(fixture, "dead", "list", "--json", "-c", fixture->config), 0);
    assert_says(fixture->process.out, "\"error\": \"no [[route]] matches topic \\\"bad\\\"\"");
    expect(fixture, run(fixture, "dead", "drop", "2", "-c", fixture->config), 0);
    expect(fixture, run(fixture, "dead", "drop", "2", "-c", fixture->config), 1);
    expect(fixture, run(fixture, "dead", "drop", "--all", "-c", fixture->config), 0);
    assert_says(fixture->process.out, "dropped 1");
    expect(fixture, run(fixture, "run", "--drain", "-c", fixture->config), 0);
}

static void sigterm_finishes_the_batch_and_exits_0(void **state)
{
    struct fixture *fixture = *state;
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

static void run_waits_for_new_rows_and_three_relays_share_them(void **state)
{
    struct fixture *fixture = *state;
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

static void a_relay_killed_in_flight_loses_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct process *process = &fixture->process;
    int lines;

    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT 't', to_jsonb(i)"
                       " FROM generate_series(1, 100000) i");
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1,
                    "SELECT EXISTS (SELECT FROM outbox WHERE sent_at IS NOT NULL)::int");
    process_stop(process, SIGKILL);
    lines = count_lines(process->out);
    expect(fixture, run(fixture, "run", "--drain", "-c", fixture->config), 0);
    lines += count_lines(fixture->process.out);
    assert_int_equal(sql_number(fixture->conn, "SELECT count(*) FROM outbox WHERE sent_at IS NULL"),
                     0);
    assert_true(lines >= 100000);
    assert_true(lines <= 100000 + 2 * 500); /* lanes x batch */
}

static void a_schema_problem_at_the_start_exits_3_with_the_remedy(void **state)
{
    struct fixture *fixture = *state;

    sql(fixture->conn, "DROP TABLE outbox");
    expect(fixture, run(fixture, "run", "-c", fixture->config), 3);
    assert_says(fixture->process.err, "table \"public\".\"outbox\" does not exist");
    assert_says(fixture->process.err, "outbox-relay init");
}

static void an_unreachable_database_is_waited_for(void **state)
{
    struct fixture *fixture = *state;
    struct process *process = &fixture->process;

    (void)snprintf(fixture->url, sizeof fixture->url, "postgresql://postgres@127.0.0.1:1/x");
    write_config(fixture, "", "[sink.out]\ntype = \"stdout\"");
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(process, "lane 1: database:");
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
}

static void a_closed_stdout_ends_the_relay_with_the_broker_status(void **state)
{
    struct fixture *fixture = *state;
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

static void init_is_idempotent_and_prints_what_an_existing_table_lacks(void **state)
{
    struct fixture *fixture = *state;

    expect(fixture, run(fixture, "init", "-c", fixture->config), 0);
    sql(fixture->conn, "ALTER TABLE outbox DROP COLUMN event_id");
    sql(fixture->conn, "DROP INDEX outbox_unsent_idx");
    expect(fixture, run(fixture, "init", "-c", fixture->config), 3);
    assert_says(fixture->process.out,
                "ALTER TABLE \"public\".\"outbox\" ADD COLUMN \"event_id\" uuid");
    assert_says(fixture->process.out, "CREATE INDEX CONCURRENTLY");
}

static void what_init_prints_can_be_executed(void **state)
{
    struct fixture *fixture = *state;

    sql(fixture->conn, "DROP TABLE outbox, outbox_parked");
    expect(fixture, run(fixture, "init", "--print", "-c", fixture->config), 0);
    sql(fixture->conn, "%s", fixture->process.out);
    expect(fixture, run(fixture, "check", "-c", fixture->config), 0);
}

static void the_printed_grants_suffice_for_a_restricted_role(void **state)
{
    struct fixture *fixture = *state;
    char url[256];
    const char *at = strchr(fixture->url, '@');

    sql(fixture->conn, "DROP ROLE IF EXISTS restricted");
    sql(fixture->conn, "CREATE ROLE restricted LOGIN");
    (void)snprintf(url, sizeof url, "postgresql://restricted%s", at);
    expect(fixture, run(fixture, "init", "--grant", "restricted", "-c", fixture->config), 0);
    sql(fixture->conn, "%s", fixture->process.out);
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t'), ('')");
    memcpy(fixture->url, url, sizeof url);
    write_config(fixture, "", "[sink.out]\ntype = \"stdout\"");
    expect(fixture, run(fixture, "check", "-c", fixture->config),
           4); /* the empty topic cannot be routed */
    expect(fixture, run(fixture, "run", "--drain", "-c", fixture->config), 1);
    expect(fixture, run(fixture, "purge", "--older-than", "0", "-c", fixture->config), 0);
    sql(fixture->conn, "REVOKE ALL ON outbox, outbox_parked FROM restricted");
    expect(fixture, run(fixture, "check", "-c", fixture->config), 3);
    assert_says(fixture->process.out,
                "GRANT UPDATE (sent_at) ON \"public\".\"outbox\" TO \"restricted\";");
    assert_says(fixture->process.out,
                "GRANT INSERT ON \"public\".\"outbox_parked\" TO \"restricted\";");
    expect(fixture, run(fixture, "run", "-c", fixture->config), 3);
    sql(fixture->conn, "REVOKE ALL ON SCHEMA public FROM restricted");
    sql(fixture->conn, "DROP ROLE restricted");
}

static void check_reports_every_finding_with_its_fix(void **state)
{
    struct fixture *fixture = *state;

    expect(fixture, run(fixture, "check", "-c", fixture->config), 0);
    sql(fixture->conn, "ALTER TABLE outbox DROP COLUMN sent_at");
    sql(fixture->conn, "ALTER TABLE outbox DROP COLUMN topic");
    sql(fixture->conn, "DROP TABLE outbox_parked");
    expect(fixture, run(fixture, "check", "-c", fixture->config), 3);
    assert_says(fixture->process.out, "ADD COLUMN \"sent_at\" timestamptz;");
    assert_says(fixture->process.out, "ADD COLUMN \"topic\" text;");
    assert_says(fixture->process.out, "table \"public\".\"outbox_parked\" not found");
    assert_says(fixture->process.out, "CREATE INDEX CONCURRENTLY");
}

static void status_counts_backlog_parked_dead_and_relays(void **state)
{
    struct fixture *fixture = *state;
    struct process relay;
    json_t *status;

    sql(fixture->conn, "INSERT INTO outbox (topic, created_at) VALUES ('', now()), ('ok', now())");
    expect(fixture, run(fixture, "run", "--drain", "-c", fixture->config), 1);
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 2,
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE"
                    " 'outbox-relay/%/_' AND datname = current_database()");
    expect(fixture, run(fixture, "status", "--json", "-c", fixture->config), 0);
    status = json_loads(fixture->process.out, 0, NULL);
    assert_non_null(status);
    assert_int_equal(json_integer_value(json_object_get(status, "backlog")), 0);
    assert_int_equal(json_integer_value(json_object_get(status, "dead")), 1);
    assert_int_equal(json_integer_value(json_object_get(status, "relays")), 1);
    assert_int_equal(json_integer_value(json_object_get(status, "lanes")), 2);
    json_decref(status);
    process_stop(&relay, SIGTERM);
    process_free(&relay);
}

static void purge_deletes_only_sent_rows_that_are_old_enough(void **state)
{
    struct fixture *fixture = *state;

    sql(fixture->conn, "INSERT INTO outbox (topic, sent_at) SELECT 't', now() - interval '8 days'"
                       " FROM generate_series(1, 2500)");
    sql(fixture->conn, "INSERT INTO outbox (topic, sent_at) VALUES ('t', now()), ('t', NULL)");
    expect(fixture, run(fixture, "purge", "--dry-run", "-c", fixture->config), 0);
    assert_says(fixture->process.out, "would purge 2500");
    expect(fixture, run(fixture, "purge", "-c", fixture->config), 0);
    assert_says(fixture->process.out, "purged 2500");
    assert_int_equal(sql_number(fixture->conn, "SELECT count(*) FROM outbox"), 2);
}

static void a_running_relay_purges_by_itself(void **state)
{
    struct fixture *fixture = *state;
    struct process relay;

    write_config(fixture, "retention = \"1s\"", "[sink.out]\ntype = \"stdout\"");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT 't', to_jsonb(i)"
                       " FROM generate_series(1, 3000) i");
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox");
    process_stop(&relay, SIGTERM);
    assert_int_equal(count_lines(relay.out), 3000);
    process_free(&relay);
}

static void a_mapped_table_is_relayed_without_any_change_to_it(void **state)
{
    struct fixture *fixture = *state;

    sql(fixture->conn,
        "CREATE TABLE public.their_events (id uuid PRIMARY KEY DEFAULT gen_random_uuid(),"
        " aggregatetype varchar(255) NOT NULL, aggregateid varchar(255) NOT NULL,"
        " type varchar(255) NOT NULL, payload jsonb)");
    sql(fixture->conn, "INSERT INTO their_events (aggregatetype, aggregateid, type, payload)"
                       " VALUES ('order', 'o-1', 'OrderPaid', '{\"a\": 1}')");
    write_config(fixture,
                 "table = \"public.their_events\"\npreset = \"debezium\"\non_sent = \"delete\"",
                 "[sink.out]\ntype = \"stdout\"");
    expect(fixture, run(fixture, "init", "-c", fixture->config), 0);
    expect(fixture, run(fixture, "run", "--drain", "-c", fixture->config), 0);
    assert_says(fixture->process.out, "\"topic\":\"order\",\"key\":\"o-1\"");
    assert_int_equal(sql_number(fixture->conn, "SELECT count(*) FROM their_events"), 0);
}

static void order_by_key_is_refused_and_says_so(void **state)
{
    struct fixture *fixture = *state;

    (void)snprintf(fixture->config, sizeof fixture->config, "%s",
                   harness_file("key.toml",
                                "[database]\nurl = \"%s\"\n[sink.out]\ntype = \"stdout\"\n",
                                fixture->url));
    expect(fixture, run(fixture, "run", "-c", fixture->config), 2);
    assert_says(fixture->process.err, "order = \"none\"");
}

static void mistakes_on_the_command_line_exit_2(void **state)
{
    struct fixture *fixture = *state;

    expect(fixture, run(fixture, "rnu"), 2);
    assert_says(fixture->process.err, "did you mean \"run\"?");
    expect(fixture, run(fixture, "run", "--drian"), 2);
    assert_says(fixture->process.err, "--drian");
    expect(fixture, run(fixture, "run", "--json"), 2);
    expect(fixture, run(fixture, "dead"), 2);
    expect(fixture, run(fixture, "dead", "revive"), 2);
    expect(fixture, run(fixture, "run", "-c", "/nonexistent/relay.toml"), 2);
    assert_says(fixture->process.err, "cannot open: No such file or directory");
    expect(fixture, run(fixture, "help"), 0);
    expect(fixture, run(fixture, "run", "--help"), 0);
    expect(fixture, run(fixture, "version"), 0);
    expect(fixture, run(fixture, "config", "--defaults"), 0);
    assert_says(fixture->process.out, "[outbox]");
}

static void no_output_ever_holds_a_password(void **state)
{
    struct fixture *fixture = *state;
    const char *secret = "canary-7f3a";
    const char *commands[] = {"run", "check", "status", "config", "init", "purge"};
    const char *server = strchr(fixture->url, '@');
    char url[256];

    (void)snprintf(url, sizeof url, "postgresql://nobody_%d:%s%s", 1, secret, server);
    memcpy(fixture->url, url, sizeof url);
    write_config(fixture, "",
                 "[sink.out]\ntype = \"stdout\"\n[sink.nats]\ntype = \"nats\"\n"
                 "servers = [\"nats://127.0.0.1:1\"]\nstream = \"S\"\nusername = \"u\"\n"
                 "password = \"canary-7f3a\"\n[[route]]\nmatch = \">\"\nsink = \"nats\"\n"
                 "[log]\nlevel = \"debug\"");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        (void)run(fixture, commands[i], "-c", fixture->config);
        if (strstr(fixture->process.out, secret) != NULL ||
            strstr(fixture->process.err, secret) != NULL)
            fail_msg("%s shows the password", commands[i]);
        if (strcmp(commands[i], "config") != 0)
            assert_int_not_equal(fixture->process.status, 0);
    }
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, fixture_close)
    const struct CMUnitTest tests[] = {
        TEST(emit_then_drain_prints_the_event_and_marks_the_row),
        TEST(emit_reads_a_payload_and_ndjson_from_stdin),
        TEST(one_bad_line_inserts_nothing_and_is_named),
        TEST(drain_leaves_dead_rows_with_status_1_and_they_can_be_listed_and_dropped),
        TEST(sigterm_finishes_the_batch_and_exits_0),
        TEST(run_waits_for_new_rows_and_three_relays_share_them),
        TEST(a_relay_killed_in_flight_loses_nothing),
        TEST(a_schema_problem_at_the_start_exits_3_with_the_remedy),
        TEST(an_unreachable_database_is_waited_for),
        TEST(a_closed_stdout_ends_the_relay_with_the_broker_status),
        TEST(init_is_idempotent_and_prints_what_an_existing_table_lacks),
        TEST(what_init_prints_can_be_executed),
        TEST(the_printed_grants_suffice_for_a_restricted_role),
        TEST(check_reports_every_finding_with_its_fix),
        TEST(status_counts_backlog_parked_dead_and_relays),
        TEST(purge_deletes_only_sent_rows_that_are_old_enough),
        TEST(a_running_relay_purges_by_itself),
        TEST(a_mapped_table_is_relayed_without_any_change_to_it),
        TEST(order_by_key_is_refused_and_says_so),
        TEST(mistakes_on_the_command_line_exit_2),
        TEST(no_output_ever_holds_a_password),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
