/* The built program with standard descriptors that are closed, or that fail. */
#include "integration/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

FIXTURE(set_up, fixture_close)

/* The exit status of a command that a shell starts with these redirections. */
static int run_in_shell(struct fixture *fixture, const char *command, const char *redirections)
{
    char line[1024];
    FILE *pipe;

    (void)snprintf(line, sizeof line, "%s %s -c %s %s; echo \"status $?\"", harness_env("RELAY"),
                   command, fixture->config, redirections);
    pipe = popen(line, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof line, pipe));
    (void)pclose(pipe);
    assert_int_equal(strncmp(line, "status ", 7), 0);
    return (int)strtol(line + 7, NULL, 10);
}

/* Starts the relay with these redirections. */
static void start_without(struct fixture *fixture, const char *redirections)
{
    char relay[256];
    const char *script;

    (void)snprintf(relay, sizeof relay, "%s", harness_env("RELAY"));
    script = harness_file("relay.sh", "#!/bin/sh\nexec %s \"$@\" %s\n", relay, redirections);
    assert_return_code(chmod(script, 0700), 0);
    assert_return_code(setenv("RELAY", script, 1), 0);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    assert_return_code(setenv("RELAY", relay, 1), 0);
}

static long long count_sent(struct fixture *fixture)
{
    return sql_number(fixture->conn, "SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL");
}

/* Without the check they would be written to the connection to PostgreSQL, which got the number of
 * the closed descriptor. */
FIXTURE_TEST(results_without_a_stdout_are_an_error)
{
    static const char *const commands[] = {"status", "status --json", "check", "dead list"};

    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, created_at, state) VALUES"
                       " (1, gen_random_uuid(), 't', now(), 'dead')");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        assert_int_equal(run_in_shell(fixture, commands[i], ">&- 2>/dev/null"), 1);
}

FIXTURE_TEST(events_without_a_stdout_are_not_marked)
{
    sql(fixture->conn, "INSERT INTO outbox (topic) SELECT 't' FROM generate_series(1, 1000)");
    assert_int_equal(run_in_shell(fixture, "run --drain", "<&- >&- 2>&-"), 4);
    process_free(&fixture->process);
    start_without(fixture, ">&-");
    process_wait(&fixture->process);
    expect(fixture, fixture->process.status, 4);
    assert_says(fixture->process.err, "stdout: Bad file descriptor");
    assert_int_equal(count_sent(fixture), 0);
}

FIXTURE_TEST(a_log_without_a_stderr_goes_nowhere_else)
{
    char link[64];
    char target[64] = "";

    sql(fixture->conn, "INSERT INTO outbox (topic) SELECT 't' FROM generate_series(1, 1000)");
    process_free(&fixture->process);
    start_without(fixture, "<&- 2>&-");
    wait_for_number(fixture->conn, 1000, "SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL");
    (void)snprintf(link, sizeof link, "/proc/%d/fd/2", (int)fixture->process.pid);
    assert_return_code(readlink(link, target, sizeof target - 1), 0);
    assert_string_equal(target, "/dev/null");
    process_stop(&fixture->process, SIGTERM);
    expect(fixture, fixture->process.status, 0);
    assert_int_equal(count_lines(fixture->process.out), 1000);
}

FIXTURE_TEST(a_stdin_that_cannot_be_read_emits_nothing)
{
    static const char *const commands[] = {"emit", "emit topic key -"};

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        assert_int_equal(run_in_shell(fixture, commands[i], "</tmp 2>/dev/null"), 1);
        assert_int_equal(run_in_shell(fixture, commands[i], "<&- 2>/dev/null"), 1);
    }
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox");
}

/* The pipe does not block and its writer stays open, so that the read after these bytes fails. */
static int emit_before_a_read_error(struct fixture *fixture, const char *lines)
{
    int saved = dup(STDIN_FILENO);
    int ends[2];
    int status;

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(write(ends[1], lines, strlen(lines)), strlen(lines));
    assert_return_code(dup2(ends[0], STDIN_FILENO), 0);
    status = run_in_shell(fixture, "emit", "2>/dev/null");
    assert_return_code(dup2(saved, STDIN_FILENO), 0);
    assert_int_equal(close(saved) + close(ends[0]) + close(ends[1]), 0);
    return status;
}

FIXTURE_TEST(a_read_error_behind_some_lines_emits_nothing)
{
    static const char *const inputs[] = {"{\"topic\": \"a\"}\n{\"topic\": \"b\"}\n",
                                         "{\"topic\": \"a\"}\n{\"topic\": \"b\"}"};

    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        assert_int_equal(emit_before_a_read_error(fixture, inputs[i]), 1);
        assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox");
    }
}
