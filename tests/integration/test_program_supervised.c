/* What a supervisor needs: signs of life, and an exit status when the relay can never work again.
 */
#include "integration/program.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int supervisor = -1;
static char heard[65536];

/* Binds an abstract socket, and has every program that is started from here on know it. */
static void listen_as_supervisor(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[64];
    size_t len = (size_t)snprintf(name, sizeof name, "@supervisor-%d", (int)getpid());

    memcpy(address.sun_path + 1, name + 1, len - 1);
    supervisor = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(supervisor >= 0);
    assert_int_equal(bind(supervisor, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
                     0);
    assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
    heard[0] = '\0';
}

static void hear(void)
{
    char message[1024];
    ssize_t len;

    while ((len = recv(supervisor, message, sizeof message - 1, 0)) > 0) {
        size_t before = strlen(heard);

        message[len] = '\0';
        (void)snprintf(heard + before, sizeof heard - before, "%s\n", message);
    }
}

static void await_heard(const char *words)
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;

    hear();
    while (strstr(heard, words) == NULL) {
        if (harness_now_ms() > deadline_ms)
            fail_msg("the supervisor did not hear \"%s\" but: %s", words, heard);
        harness_pause();
        hear();
    }
}

static int forget_supervisor(void **state)
{
    if (supervisor >= 0)
        (void)close(supervisor);
    supervisor = -1;
    (void)unsetenv("NOTIFY_SOCKET");
    return fixture_close(state);
}

FIXTURE(set_up, forget_supervisor)

FIXTURE_TEST(a_relay_that_works_is_ready_turns_reloads_and_stops)
{
    struct process *process = &fixture->process;

    listen_as_supervisor();
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    await_heard("READY=1\nWATCHDOG=1\nSTATUS=relaying, sent 0\n");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('t', '1')");
    await_heard("\nWATCHDOG=1\nSTATUS=relaying, sent 1\n");
    heard[0] = '\0';
    assert_int_equal(kill(process->pid, SIGHUP), 0);
    await_heard("RELOADING=1\nMONOTONIC_USEC=");
    await_heard("READY=1\n");
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    await_heard("STOPPING=1\nEXTEND_TIMEOUT_USEC=20000000\n"); /* shutdown_timeout and 5 s */
}

FIXTURE_TEST(a_relay_that_waits_for_its_database_is_ready_and_says_so)
{
    struct process *process = &fixture->process;

    (void)snprintf(fixture->url, sizeof fixture->url, "postgresql://postgres@127.0.0.1:1/x");
    write_config(fixture, "", STDOUT_SINK);
    listen_as_supervisor();
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    await_heard("READY=1\nWATCHDOG=1\nSTATUS=starting, sent 0; the database has been away for ");
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
}

FIXTURE_TEST(a_relay_that_cannot_start_is_never_ready)
{
    sql(fixture->conn, "DROP TABLE outbox");
    listen_as_supervisor();
    expect_run(fixture, 3, "run");
    hear();
    assert_string_equal(heard, "");
}

/* ---- what no waiting mends ---- */

/* What fails before a lane has worked ends a relay at once, so a row is sent first. */
static void start(struct fixture *fixture, const char *outbox)
{
    if (outbox != NULL)
        (void)snprintf(fixture->config, sizeof fixture->config, "%s",
                       harness_file("keyed.toml",
                                    "[database]\nurl = \"%s\"\n[outbox]\n%s\n" STDOUT_SINK "\n",
                                    fixture->url, outbox));
    if (outbox != NULL)
        expect_run(fixture, 0, "init");
    process_free(&fixture->process);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('t', '0')");
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox WHERE sent_at IS NULL");
}

static void expect_to_end_with_3(struct fixture *fixture, const char *why)
{
    process_wait(&fixture->process);
    expect(fixture, fixture->process.status, 3);
    assert_says(fixture->process.err, "level=error msg=\"the relay ends\" error=\"");
    assert_says(fixture->process.err, why);
}

FIXTURE_TEST(a_relay_whose_table_was_dropped_ends)
{
    start(fixture, NULL);
    sql(fixture->conn, "DROP TABLE outbox");
    expect_to_end_with_3(fixture, "table \"public\".\"outbox\" does not exist");
}

FIXTURE_TEST(a_relay_with_another_number_of_slices_ends)
{
    sql(fixture->conn, "DROP TABLE outbox CASCADE; DROP TABLE outbox_parked, outbox_control");
    start(fixture, "slices = 64");
    sql(fixture->conn, "DELETE FROM outbox_slice; INSERT INTO outbox_slice SELECT slice, 32"
                       " FROM generate_series(0, 31) slice");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('t', '1')");
    expect_to_end_with_3(fixture, "32 slices, the configuration says 64");
    assert_number(fixture->conn, 1, "SELECT count(*) FROM outbox WHERE sent_at IS NULL");
}

/* Longer than a schema may be broken. */
FIXTURE_TEST(a_privilege_that_is_revoked_is_waited_for)
{
    int64_t until_ms;

    make_role(fixture, "waiting_relay");
    log_in_as(fixture, "waiting_relay");
    configure(fixture);
    start(fixture, NULL);
    sql(fixture->conn, "REVOKE ALL ON outbox FROM waiting_relay");
    process_await_words(&fixture->process, "msg=\"the database refuses the relay\"");
    until_ms = harness_now_ms() + 8000;
    while (harness_now_ms() < until_ms) {
        assert_int_equal(kill(fixture->process.pid, 0), 0);
        harness_pause();
    }
    sql(fixture->conn, "GRANT ALL ON outbox TO waiting_relay");
    process_await_words(&fixture->process, "the database is back after ");
    process_stop(&fixture->process, SIGTERM);
    expect(fixture, fixture->process.status, 0);
}

FIXTURE_TEST(a_table_that_comes_back_soon_is_waited_for)
{
    start(fixture, NULL);
    sql(fixture->conn, "ALTER TABLE outbox RENAME TO hidden");
    process_await_words(&fixture->process, "msg=\"the database refuses the relay\"");
    sql(fixture->conn, "ALTER TABLE hidden RENAME TO outbox;"
                       "INSERT INTO outbox (topic, payload) VALUES ('t', '1')");
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox WHERE sent_at IS NULL");
    process_stop(&fixture->process, SIGTERM);
    expect(fixture, fixture->process.status, 0);
}
