/* What users of any command line expect: help, usage, exit statuses, ids to go on with, progress.
 */
#include "integration/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FIXTURE(set_up, fixture_close)

FIXTURE_TEST(without_a_command_the_usage_goes_to_stderr_with_status_2)
{
    struct process *process = &fixture->process;

    process_free(process);
    expect(fixture, process_run(process, NULL, NULL), 2);
    assert_string_equal(process->out, "");
    assert_says(process->err, "usage: outbox-relay COMMAND");
    expect(fixture, run(fixture, "help"), 0);
    assert_says(process->out, "usage: outbox-relay COMMAND");
    assert_string_equal(process->err, "");
}

/* The commands are those that `help` lists. */
FIXTURE_TEST(the_help_of_each_command_has_its_options_and_an_example)
{
    struct process *process = &fixture->process;
    char *list;
    char *rest;
    char *line;
    int commands = 0;

    expect(fixture, run(fixture, "help"), 0);
    rest = list = strdup(process->out);
    assert_non_null(list);
    while ((line = strsep(&rest, "\n")) != NULL) {
        char name[16];
        char example[64];

        if (sscanf(line, "  %15s", name) != 1 || strncmp(line, "  ", 2) != 0)
            continue;
        commands++;
        (void)snprintf(example, sizeof example, "\n  outbox-relay %s", name);
        expect(fixture, run(fixture, name, "--help"), 0);
        assert_says(process->out, "usage: outbox-relay ");
        if (strcmp(name, "version") != 0 && strcmp(name, "help") != 0)
            assert_says(process->out, example);
        for (const char *at = process->out; *at != '\0'; at = strchr(at, '\n') + 1)
            assert_true(strchr(at, '\n') - at <= 100);
    }
    free(list);
    assert_true(commands >= 12);
}

FIXTURE_TEST(emit_prints_the_ids)
{
    struct process *process = &fixture->process;

    expect_run(fixture, 0, "emit", "a");
    assert_string_equal(process->out, "1\n");
    process_free(process);
    expect(fixture,
           process_run(process, "{\"topic\":\"a\"}\n{\"topic\":\"b\"}\n", "emit", "-c",
                       fixture->config, NULL),
           0);
    assert_string_equal(process->out, "2\n3\n");
    expect_run(fixture, 0, "emit", "a", "--json");
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM outbox WHERE id = 4 AND '%s'::json ->>"
                  " 'event_id' = event_id::text",
                  process->out);
    process_free(process);
    expect(fixture,
           process_run(process, "{\"topic\":\"a\"}\n{\"topic\":1,}\n", "emit", "-c",
                       fixture->config, NULL),
           2);
    assert_string_equal(process->out, "");
}

FIXTURE_TEST(a_role_that_may_only_insert_emits_without_ids)
{
    make_role(fixture, "test_emitter");
    sql(fixture->conn, "REVOKE SELECT, UPDATE, DELETE ON outbox FROM test_emitter;"
                       "REVOKE UPDATE (sent_at) ON outbox FROM test_emitter;"
                       "GRANT INSERT ON outbox TO test_emitter");
    log_in_as(fixture, "test_emitter");
    configure(fixture);
    expect_run(fixture, 0, "emit", "a");
    assert_string_equal(fixture->process.out, "");
    assert_number(fixture->conn, 1, "SELECT count(*) FROM outbox");
}

/* script(1) gives the program a terminal. What it shows there is kept. */
static void run_on_a_terminal(struct fixture *fixture, const char *variables, const char *words)
{
    char command[1200];

    (void)snprintf(command, sizeof command,
                   "TERM=xterm %s script -qec '%s %s -c %s' %s/seen >%s/shown", variables,
                   harness_env("RELAY"), words, fixture->config, harness_folder(),
                   harness_folder());
    assert_int_equal(system(command), 0);
}

static void read_seen(char *seen, size_t size)
{
    char path[300];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/seen", harness_folder());
    file = fopen(path, "r");
    assert_non_null(file);
    seen[fread(seen, 1, size - 1, file)] = '\0';
    (void)fclose(file);
}

FIXTURE_TEST(a_drain_shows_how_far_it_is_on_a_terminal)
{
    static char seen[65536];

    write_config(fixture, "", "lanes = 1\nbatch = 10\n" STDOUT_SINK);
    sql(fixture->conn, "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
                       " 'BEGIN PERFORM pg_sleep(0.2); RETURN NULL; END';"
                       "CREATE TRIGGER slow AFTER UPDATE ON outbox EXECUTE FUNCTION slow();"
                       "INSERT INTO outbox (topic) SELECT 't' FROM generate_series(1, 120)");
    run_on_a_terminal(fixture, "", "run --drain");
    read_seen(seen, sizeof seen);
    assert_says(seen, " of 120, about ");
    assert_says(seen, " s left\033[K\r");
    sql(fixture->conn, "UPDATE outbox SET sent_at = NULL");
    expect(fixture, run_drain(fixture), 0);
    assert_null(strchr(fixture->process.err, '\033'));
    assert_null(strchr(fixture->process.err, '\r'));
}

FIXTURE_TEST(colours_are_for_terminals_and_for_those_who_want_them)
{
    static char seen[65536];

    run_on_a_terminal(fixture, "", "check");
    read_seen(seen, sizeof seen);
    assert_says(seen, "\033[32mok\033[0m: configuration");
    run_on_a_terminal(fixture, "NO_COLOR=1", "check");
    read_seen(seen, sizeof seen);
    assert_says(seen, "ok: configuration");
    assert_null(strchr(seen, '\033'));
    expect_run(fixture, 0, "check");
    assert_null(strchr(fixture->process.out, '\033'));
}
