/*
 * A new cluster takes the place of the old one at the same address, as after pg_upgrade and after a
 * blue/green switch: the steps of docs/failover.md.
 */
#include "integration/own_postgres.h"

#define SENT "SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL"

static struct own_postgres blue;
static struct own_postgres green;

struct clusters {
    char config[256];
    PGconn *application; /* to "shop" of the cluster that is up */
    struct process relay;
    struct process command;
};

static struct clusters clusters;

static int command_with(const char *name)
{
    process_free(&clusters.command);
    return process_run(&clusters.command, NULL, name, "-c", clusters.config, NULL);
}

static void start_relay(void)
{
    process_free(&clusters.relay);
    process_start(&clusters.relay, NULL, "run", "-c", clusters.config, NULL);
}

static int set_up_blue(void **state)
{
    (void)state;
    create_own_postgres(&blue, NULL);
    (void)snprintf(clusters.config, sizeof clusters.config, "%s",
                   harness_file("clusters.toml",
                                "[database]\nurl = \"postgresql://" HARNESS_RELAY
                                "@127.0.0.1:%d/shop\"\n[relay]\npoll_interval = \"50ms\"\n"
                                "[http]\nlisten = \"127.0.0.1:%d\"\n" STDOUT_SINK "\n",
                                blue.port, harness_free_port()));
    if (command_with("init") != 0)
        fail_msg("%s", clusters.command.err);
    clusters.application = own_connect(&blue, "shop");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    process_end_all();
    process_free(&clusters.relay);
    process_free(&clusters.command);
    blue.process.pid = green.process.pid = 0;
    PQfinish(clusters.application);
    end_own_postgres(&blue);
    end_own_postgres(&green);
    return 0;
}

FIXTURE(set_up_blue, tear_down)

static void insert_rows(int first, int count)
{
    sql(clusters.application,
        "INSERT INTO outbox (topic, key, payload) SELECT 'clusters', i %% 5, to_jsonb(i)"
        " FROM generate_series(%d, %d) i",
        first, first + count - 1);
}

static void relay_rows(int first, int count)
{
    insert_rows(first, count);
    wait_for_number(clusters.application, first + count - 1, SENT);
}

/* An empty cluster for the port of the other. */
static void make_green(void)
{
    make_cluster(&green, "green");
    green.port = blue.port;
}

/* By the shell, as the user of the servers, in the folder of the new cluster. */
static void run_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void run_shell(const char *format, ...)
{
    struct process shell;
    char command[2048];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(command, sizeof command, format, args);
    va_end(args);
    process_start_server(&shell, "/bin/sh", "-ec", command, NULL);
    process_wait(&shell);
    if (shell.status != 0)
        fail_msg("%s: %s%s", command, shell.out, shell.err);
    process_free(&shell);
}

/* SIGINT: a fast shutdown, as pg_upgrade wants it. */
static void stop_blue(void)
{
    PQfinish(clusters.application);
    clusters.application = NULL;
    process_stop(&blue.process, SIGINT);
    process_free(&blue.process);
    blue.process.pid = 0;
}

static void await_answer(const char *command, int status, const char *words)
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;

    while (command_with(command) != status || strstr(clusters.command.out, words) == NULL) {
        if (harness_now_ms() > deadline_ms)
            fail_msg("%s: %d %s", command, clusters.command.status, clusters.command.out);
        harness_pause();
    }
}

/* The relay that was connected to the old cluster sends nothing, and says that it has to be started
 * anew. One that is started anew goes on. */
static void assert_taken_after_a_restart(int first, int count)
{
    clusters.application = own_connect(&green, "shop");
    insert_rows(first, count);
    await_answer("health", 1,
                 "only a restart helps: database: this is not the cluster of the previous");
    process_await_words(&clusters.relay, "the database is another cluster");
    assert_number(clusters.application, first - 1, SENT);
    /* Each second the relay connects for a moment, and is seen then. */
    await_answer("status", 0, "no relay runs, and 20 rows are to be sent");
    process_stop(&clusters.relay, SIGTERM);
    assert_says(clusters.relay.err, "after pg_upgrade or a blue/green switch restart the relay");
    assert_int_equal(count_lines(clusters.relay.out), first - 1);
    start_relay();
    wait_for_number(clusters.application, first + count - 1, SENT);
    await_answer("health", 0, "ok");
    process_stop(&clusters.relay, SIGTERM);
    assert_int_equal(count_lines(clusters.relay.out), count);
    assert_int_equal(command_with("check"), 0);
}

TEST(after_pg_upgrade_a_restart_goes_on_where_the_old_cluster_ended)
{
    char programs[256];

    start_relay();
    relay_rows(1, 20);
    make_green();
    stop_blue();
    (void)snprintf(programs, sizeof programs, "%s", postgres_program("pg_upgrade"));
    *strrchr(programs, '/') = '\0';
    run_shell(
        "cd %s; mkdir log; cd log; %s/pg_upgrade -U postgres -b %s -B %s -d %s -D %s -s /tmp -p %d -P %d",
        green.folder, programs, programs, programs, blue.folder, green.folder, blue.port,
        harness_free_port());
    start_own_postgres(&green, NULL);
    assert_taken_after_a_restart(21, 20);
}

TEST(after_a_blue_green_switch_a_restart_goes_on)
{
    char dump[256];

    start_relay();
    relay_rows(1, 20);
    make_green();
    (void)snprintf(dump, sizeof dump, "%s/dump.sql", green.folder);
    run_shell("%s -h 127.0.0.1 -p %d -U postgres > %s", postgres_program("pg_dumpall"), blue.port,
              dump);
    stop_blue();
    start_own_postgres(&green, NULL);
    run_shell("%s -qX -h 127.0.0.1 -p %d -U postgres -d postgres -f %s", postgres_program("psql"),
              green.port, dump);
    assert_taken_after_a_restart(21, 20);
}
