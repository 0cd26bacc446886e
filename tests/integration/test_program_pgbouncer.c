/*
 * A real pgbouncer between the program and PostgreSQL. In session mode everything works. In
 * transaction mode every command refuses, and leaves nothing behind in the pool.
 */
#include "integration/program.h"

#include <signal.h>
#include <unistd.h>

#define EVENTS 2000
#define KEYS 20

struct pooled {
    struct process pgbouncer;
    char direct[256]; /* path of a configuration that does not go through the pooler */
    int port;
};

static struct pooled pooled;

static const char *pooled_url(const struct fixture *fixture)
{
    static char url[256];

    (void)snprintf(url, sizeof url, "postgresql://" HARNESS_RELAY "@127.0.0.1:%d/%s", pooled.port,
                   PQdb(fixture->conn));
    return url;
}

/* The configuration file lies where the user postgres may read it. */
static void start_pgbouncer(struct fixture *fixture, const char *mode, int pool_size)
{
    char path[256];
    FILE *file;

    pooled.port = harness_free_port();
    (void)snprintf(path, sizeof path, "%s/pgbouncer_%d.ini", harness_env("TEST_DIR"),
                   (int)getpid());
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fprintf(file,
                        "[databases]\n* = host=127.0.0.1 port=%s user=" HARNESS_RELAY "\n"
                        "[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\n"
                        "auth_type = any\nunix_socket_dir =\npool_mode = %s\n"
                        "default_pool_size = %d\n",
                        harness_env("TEST_PG_PORT"), pooled.port, mode, pool_size) > 0);
    assert_int_equal(fclose(file), 0);
    process_start_server(&pooled.pgbouncer, "/usr/sbin/pgbouncer", path, NULL);
    process_await_words(&pooled.pgbouncer, "process up");
    (void)snprintf(pooled.direct, sizeof pooled.direct, "%s",
                   harness_file("direct.toml",
                                "[database]\nurl = \"%s\"\n[http]\nlisten = \"\"\n" STDOUT_SINK
                                "\n",
                                fixture->url));
    (void)snprintf(fixture->config, sizeof fixture->config, "%s",
                   harness_file("relay.toml",
                                "[database]\nurl = \"%s\"\n[relay]\nbatch = 50\n"
                                "poll_interval = \"50ms\"\n" STDOUT_SINK "\n",
                                pooled_url(fixture)));
}

static void configure_default(struct fixture *fixture)
{
    (void)snprintf(
        fixture->config, sizeof fixture->config, "%s",
        harness_file("relay.toml", "[database]\nurl = \"%s\"\n" STDOUT_SINK "\n", fixture->url));
}

static int set_up_pooled(void **state)
{
    return fixture_open(state, configure_default);
}

static int tear_down_pooled(void **state)
{
    process_stop(&pooled.pgbouncer, SIGTERM);
    process_free(&pooled.pgbouncer);
    return fixture_close(state);
}

FIXTURE(set_up_pooled, tear_down_pooled)

static void insert_events(struct fixture *fixture)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload) SELECT 'pooled', i %% %d, to_jsonb(i)"
        " FROM generate_series(1, %d) i",
        KEYS, EVENTS);
}

FIXTURE_TEST(in_session_mode_two_relays_of_which_one_is_killed_lose_nothing)
{
    struct process first;
    struct process second;

    start_pgbouncer(fixture, "session", 20);
    expect_run(fixture, 0, "check");
    assert_says(fixture->process.out, "through a connection pooler in session mode");
    insert_events(fixture);
    process_start(&first, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&first, "\"topic\":\"pooled\"");
    process_start(&second, NULL, "run", "-c", fixture->config, NULL);
    process_stop(&first, SIGKILL);
    wait_for_number(fixture->conn, 0, UNSENT);
    process_stop(&second, SIGTERM);
    assert_int_equal(second.status, 0);
    load_printed(fixture, first.out);
    load_printed(fixture, second.out);
    assert_all_printed(fixture);
    assert_keys_printed_in_order(fixture);
    process_free(&first);
    process_free(&second);
}

FIXTURE_TEST(in_session_mode_inserts_wake_the_relay_and_status_is_answered)
{
    struct process relay;

    start_pgbouncer(fixture, "session", 20);
    expect(fixture, run(fixture, "init", "--notify", "-c", pooled.direct), 0);
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1, ARMED);
    expect_run(fixture, 0, "status");
    assert_says(fixture->process.out, "relays   1 with 2 lanes");
    assert_says(fixture->process.out, "out: up since"); /* only the relay can say that */
    process_stop(&relay, SIGTERM);
    assert_int_equal(relay.status, 0);
    process_free(&relay);
}

#define LISTENING "pid FROM pg_stat_activity WHERE query = 'LISTEN outbox_relay_pooler'"
/* After the session that notified, pgbouncer resets its backend. */
#define NOTIFIED_LONG_AGO                                                                          \
    "SELECT count(*) FROM pg_stat_activity WHERE query = 'DISCARD ALL' AND datname ="              \
    " current_database() AND clock_timestamp() - state_change > '4 s'"

/* The pool has two backends. The application keeps one, for which the session that notifies waits,
 * until the backend that listens is stopped. */
FIXTURE_TEST(in_session_mode_a_late_notification_is_awaited)
{
    struct process init;
    PGconn *application;
    pid_t backend;

    start_pgbouncer(fixture, "session", 2);
    application = PQconnectdb(pooled_url(fixture));
    sql(application, "SELECT 1");
    process_start(&init, NULL, "init", "--print", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1, "SELECT count(*) FROM (SELECT " LISTENING ") listening");
    backend = (pid_t)sql_number(fixture->conn, "SELECT " LISTENING);
    assert_int_equal(kill(backend, SIGSTOP), 0);
    PQfinish(application);
    wait_for_number(fixture->conn, 1, NOTIFIED_LONG_AGO);
    assert_int_equal(kill(backend, SIGCONT), 0);
    process_wait(&init);
    assert_int_equal(init.status, 0);
    process_free(&init);
}

static void await_refused(struct process *process)
{
    process_wait(process);
    assert_int_equal(process->status, 3);
    assert_true(process_count_words(process, "connection pooler in transaction mode") > 0);
    assert_true(process_count_words(process, "pool_mode = session") > 0);
    process_free(process);
}

FIXTURE_TEST(in_transaction_mode_every_command_refuses_and_leaves_nothing_behind)
{
    static const char *const commands[] = {"check", "run", "status"};
    struct process processes[3];
    PGconn *application;

    start_pgbouncer(fixture, "transaction", 20);
    application = PQconnectdb(pooled_url(fixture));
    assert_int_equal(PQstatus(application), CONNECTION_OK);
    insert_events(fixture);
    for (size_t i = 0; i < 3; i++)
        process_start(&processes[i], NULL, commands[i], "-c", fixture->config, NULL);
    for (size_t i = 0; i < 3; i++)
        await_refused(&processes[i]);
    assert_number(fixture->conn, EVENTS, UNSENT);
    /* The pool's backends are as the application left them. */
    assert_string_equal(sql_text(application, "SHOW search_path"), "\"$user\", public");
    assert_string_equal(sql_text(application, "SHOW statement_timeout"), "0");
    assert_number(application, 0, "SELECT count(*) FROM pg_prepared_statements");
    assert_string_equal(sql_text(application, "SELECT pg_listening_channels()"), "");
    PQfinish(application);
}

/* While a transaction of another client keeps the first backend, each of the program's goes on in
 * the same other one. */
FIXTURE_TEST(transaction_mode_is_seen_in_a_busy_pool)
{
    struct process relay;
    PGconn *application;

    start_pgbouncer(fixture, "transaction", 20);
    application = PQconnectdb(pooled_url(fixture));
    sql(application, "BEGIN; SELECT 1");
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    await_refused(&relay);
    sql(application, "COMMIT");
    PQfinish(application);
}
