/* What others in the database repeat endlessly, warnings and notifications, costs the relay little.
 */
#include "integration/program.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

FIXTURE(set_up, fixture_close)

#define ROWS 3000
#define FLOODS 40
#define CHANNEL "'outbox_relay_' || 'outbox'::regclass::oid"

static void insert_rows(struct fixture *fixture)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, payload) SELECT 't', to_jsonb(i) FROM generate_series(1, %d) i",
        ROWS);
}

static void warn_at_each_row(struct fixture *fixture, const char *text)
{
    sql(fixture->conn,
        "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN RAISE WARNING 'flood %%', %s; RETURN NEW; END$$;"
        "CREATE TRIGGER warn BEFORE UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION warn()",
        text);
}

FIXTURE_TEST(a_trigger_that_warns_of_each_row_costs_one_line_and_a_count)
{
    insert_rows(fixture);
    warn_at_each_row(fixture, "NEW.id");
    expect_drained(fixture, 0, ROWS);
    assert_int_equal(
        process_count_words(&fixture->process, "database: a function warns (SQLSTATE 01000)"), 1);
    assert_says(fixture->process.err, "2999 more warnings of functions in the database");
}

static void set_standby(struct fixture *fixture, const char *name)
{
    char query[160];

    sql(fixture->conn, "SET synchronous_commit = off");
    sql(fixture->conn, "ALTER SYSTEM SET synchronous_standby_names = '%s'", name);
    sql(fixture->conn, "SELECT pg_reload_conf()");
    (void)snprintf(query, sizeof query,
                   "SELECT count(*) FROM pg_settings WHERE name = 'synchronous_standby_names'"
                   " AND setting = '%s'",
                   name);
    wait_for_number(fixture->conn, 1, query);
}

FIXTURE_TEST(a_commit_that_did_not_wait_for_its_standby_is_seen_in_a_flood)
{
    struct process *process = &fixture->process;

    write_config(fixture, "durable_before_publish = false", STDOUT_SINK);
    expect(fixture, run_drain(fixture), 0); /* leaves its note */
    process_free(process);
    insert_rows(fixture);
    warn_at_each_row(fixture, "translate(NEW.id::text, '0123456789', 'abcdefghij')");
    set_standby(fixture, "nosuch");
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1,
                    "SELECT (count(pg_cancel_backend(pid)) > 0)::int FROM pg_stat_activity"
                    " WHERE wait_event = 'SyncRep' AND datname = current_database()");
    process_await_words(process, "canceling wait for synchronous replication");
    set_standby(fixture, "");
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    assert_in_range(process_count_words(process, "database: a function warns (SQLSTATE 01000)"), 1,
                    8);
    assert_says(process->err, "more warnings of functions in the database");
}

static void poll_and_listen(struct fixture *fixture)
{
    write_relay_toml(fixture, "[outbox]\norder = \"none\"\n"
                              "[relay]\npoll_interval = \"60s\"\n" STDOUT_SINK "\n");
    expect_run(fixture, 0, "init", "--notify");
    process_free(&fixture->process);
}

/* How often the relay's threads have gone to sleep, which counts how often they were woken. */
static long count_waits(pid_t pid)
{
    char line[256];
    long waits = 0;
    FILE *out;

    (void)snprintf(line, sizeof line, "cat /proc/%d/task/*/status", (int)pid);
    out = popen(line, "r");
    assert_non_null(out);
    while (fgets(line, sizeof line, out) != NULL)
        if (strncmp(line, "voluntary_ctxt_switches:", 24) == 0)
            waits += strtol(line + 24, NULL, 10);
    (void)pclose(out);
    return waits;
}

static void notify(PGconn *conn, const char *payload, int times)
{
    char text[160];

    (void)snprintf(text, sizeof text, "NOTIFY %s, '%s'", sql_text(conn, "SELECT " CHANNEL),
                   payload);
    for (int i = 0; i < times; i++)
        PQclear(PQexec(conn, text));
}

/* Each of 20,000 notifications is a transaction of its own. A relay that polls as often as by
 * default would have waited a few dozen times in that time; the first 400 are taken for inserts. */
FIXTURE_TEST(a_loop_of_notifications_costs_no_more_than_polling)
{
    static const char *const payloads[] = {"", "x"};
    struct process *process = &fixture->process;

    poll_and_listen(fixture);
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1, ARMED);
    for (size_t i = 0; i < sizeof payloads / sizeof *payloads; i++) {
        long waits = count_waits(process->pid);
        int64_t began_ms = harness_now_ms();
        long polls;

        notify(fixture->conn, payloads[i], 20000);
        polls = (long)((harness_now_ms() - began_ms) / 250);
        waits = count_waits(process->pid) - waits;
        printf("%ld waits, %ld polls\n", waits, polls);
        assert_in_range(waits, 0, 4000 + 20 * polls);
    }
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t')");
    process_await_words(process, "\"topic\":\"t\"");
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    assert_says(process->err, "inserts do not wake this relay, it polls");
}

/* In hundredths of a second. */
static long count_cpu(pid_t pid)
{
    char path[64];
    char line[512] = "";
    unsigned long user = 0;
    unsigned long system = 0;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    (void)fclose(file);
    assert_int_equal(sscanf(strrchr(line, ')'),
                            ") %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu", &user,
                            &system),
                     2);
    return (long)(user + system) * 100 / sysconf(_SC_CLK_TCK);
}

static PGconn *listen_too(struct fixture *fixture)
{
    PGconn *conn = harness_connect(fixture->url);

    sql(conn, "DO $$BEGIN EXECUTE 'LISTEN ' || " CHANNEL "; END$$");
    return conn;
}

/* Counts those of a flood; the inserts' own have no payload. */
static void read_notifications(PGconn *conn, int count)
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;
    struct pollfd wait = {.fd = PQsocket(conn), .events = POLLIN};
    PGnotify *found;

    while (count > 0) {
        assert_true(harness_now_ms() < deadline_ms);
        (void)poll(&wait, 1, 100);
        assert_int_equal(PQconsumeInput(conn), 1);
        while ((found = PQnotifies(conn)) != NULL) {
            count -= found->extra[0] != '\0';
            PQfreemem(found);
        }
    }
}

/* A transaction's 2,000 notifications of 7.9 KB each, again and again: answers that lanes wait for
 * would stand behind 16 MB. The relay reads some of them, and then listens no more: it spends less
 * than half the time that this test spends on reading all. */
FIXTURE_TEST(large_notifications_delay_no_row)
{
    struct process *process = &fixture->process;
    long to_read_all = 0;
    PGconn *listening;
    long cpu;

    poll_and_listen(fixture);
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1, ARMED);
    listening = listen_too(fixture);
    cpu = count_cpu(process->pid);
    for (int i = 0; i < FLOODS; i++) {
        sql(fixture->conn,
            "SELECT count(pg_notify(" CHANNEL
            ", repeat('x', 7900) || i || random())) FROM generate_series(1, 2000) i");
        sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('t', '%d')", i);
        to_read_all -= count_cpu(getpid());
        read_notifications(listening, 2000);
        to_read_all += count_cpu(getpid());
    }
    wait_for_number(fixture->conn, 0, UNSENT);
    cpu = count_cpu(process->pid) - cpu;
    printf("%ld hundredths of a second, %ld to read all\n", cpu, to_read_all);
    assert_in_range(cpu, 0, to_read_all / 2);
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    assert_null(strstr(process->err, "error"));
    PQfinish(listening);
}
