/* A sink that hangs, wherever it hangs, holds up only its own rows: rows of another sink arrive,
 * SIGTERM is obeyed, and `check` ends. A sink that is away does not flood the log. */
#include "integration/program.h"

#include <arpa/inet.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

FIXTURE(set_up, fixture_close)

#define ARRIVE_MS 10000 /* with the 4 s that a sink gets before it counts as away */
#define STOP_MS 8000
#define HANGS_MS 1000 /* a refusal is told within milliseconds */
#define CHECK_MS 10000
#define REFUSED_BACKLOG 0
#define BACKLOG 128
#define GREETS 127 /* a server that demands TLS, and then says nothing */
#define ATTEMPTS 2
#define CONNECTIONS 20

struct hang {
    const char *type;
    const char *host; /* NULL: a listening socket that nobody reads from */
    int backlog;
    const char *properties; /* of librdkafka */
    const char *says;
};

#define HANGS "no answer and no refusal: a name lookup, a connection or a TLS handshake hangs"

/* librdkafka says that a request timed out, and from 2.14 on that the broker is down. */
static const struct hang silent = {"kafka", NULL, BACKLOG, "", "kafka at 127.0.0.1"};
static const struct hang silent_tls = {"kafka", NULL, BACKLOG, "\"security.protocol\" = \"ssl\"\n",
                                       HANGS};
static const struct hang unreachable = {"kafka", NULL, REFUSED_BACKLOG, "", HANGS};
static const struct hang unresolved = {"kafka", "broker.hangs.test:9092", 0, "", HANGS};
static const struct hang kerberos = {
    "kafka", NULL, BACKLOG,
    "\"security.protocol\" = \"sasl_plaintext\"\n\"sasl.mechanism\" = \"GSSAPI\"\n"
    "\"sasl.kerberos.kinit.cmd\" = \"exec sleep 40\"\n",
    HANGS};

static const struct hang nats_silent = {"nats", NULL, BACKLOG, "", "nats at nats://127.0.0.1"};
static const struct hang nats_unreachable = {"nats", NULL, REFUSED_BACKLOG, "",
                                             "nats at nats://127.0.0.1"};
static const struct hang nats_unresolved = {"nats", "server.hangs.test:4222", 0, "",
                                            "an attempt to connect has hung for"};
static const struct hang nats_silent_tls = {"nats", NULL, GREETS, "", "nats at nats://127.0.0.1"};

static int listener = -1;
static pid_t greeter = -1;
static int fillers[8];

/* Connects until the kernel accepts no more: a client that comes then gets no answer at all. */
static void fill_backlog(const struct sockaddr_in *address)
{
    for (size_t i = 0; i < sizeof fillers / sizeof *fillers; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fillers[i], (const struct sockaddr *)address, sizeof *address);
    }
}

/* Greets so many clients and says nothing more. Until then, or until its parent ends. */
static void start_greeter(int clients, const char *tls)
{
    greeter = fork();
    if (greeter != 0)
        return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (; clients > 0; clients--)
        (void)dprintf(accept(listener, NULL, NULL),
                      "INFO {\"server_id\":\"x\",\"version\":\"2.9.10\",\"proto\":1,"
                      "\"max_payload\":1048576,\"tls_required\":%s}\r\n",
                      tls);
    _exit(0);
}

static void open_listener(int backlog, char *out, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;

    listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listener, backlog), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    if (backlog == REFUSED_BACKLOG)
        fill_backlog(&address);
    if (backlog == GREETS)
        start_greeter(INT_MAX, "true");
    (void)snprintf(out, size, "127.0.0.1:%d", ntohs(address.sin_port));
}

static void close_listener(void)
{
    if (listener >= 0)
        (void)close(listener);
    listener = -1;
    if (greeter > 0) {
        (void)kill(greeter, SIGKILL);
        (void)waitpid(greeter, NULL, 0);
    }
    greeter = -1;
    for (size_t i = 0; i < sizeof fillers / sizeof *fillers; i++)
        if (fillers[i] > 0)
            (void)close(fillers[i]);
    memset(fillers, 0, sizeof fillers);
}

static void write_hanging(struct fixture *fixture, const struct hang *hang, const char *out_sink,
                          const char *routes)
{
    char broker[64];
    char rest[1024];

    if (hang->host != NULL)
        (void)snprintf(broker, sizeof broker, "%s", hang->host);
    else
        open_listener(hang->backlog, broker, sizeof broker);
    if (strcmp(hang->type, "nats") == 0)
        (void)snprintf(rest, sizeof rest,
                       "lanes = 1\n%s\n[sink.far]\ntype = \"nats\"\nservers = [\"nats://%s\"]\n"
                       "stream = \"FAR\"\n%s",
                       out_sink, broker, routes);
    else
        (void)snprintf(rest, sizeof rest,
                       "lanes = 1\n%s\n[sink.far]\ntype = \"kafka\"\nbrokers = [\"%s\"]\n"
                       "[sink.far.properties]\n%s%s",
                       out_sink, broker, hang->properties, routes);
    write_config(fixture, "", rest);
}

static void expect_status_to_name_the_sink(struct fixture *fixture)
{
    struct process status = {0};

    wait_for_number(fixture->conn, 1,
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name"
                    " ~ '^outbox-relay/.*/away:far$' AND datname = current_database()");
    assert_int_equal(process_run(&status, NULL, "status", "-c", fixture->config, NULL), 0);
    assert_says(status.out, "far: away");
    process_free(&status);
}

static void start(struct fixture *fixture, struct process *process, const char *command)
{
    preload("build/hanging.so");
    process_start(process, NULL, command, "-c", fixture->config, NULL);
    preload_nothing();
}

/* Both wait for the same hang: `check` ends while the relay waits. */
static void expect_check_to_end(struct process *check, const struct hang *hang, int64_t started_ms)
{
    process_wait(check);
    assert_in_range(harness_now_ms() - started_ms, HANGS_MS, CHECK_MS);
    if (check->status != 4)
        fail_msg("check: exit status %d; it said: %s%s", check->status, check->out, check->err);
    assert_says(check->out, "error: [sink.far]");
    assert_says(check->out, hang->says);
    process_free(check);
}

static void expect_a_hang_to_cost_little(void **state, const struct hang *hang)
{
    struct fixture *fixture = *state;
    struct process check;
    int64_t started_ms;

    write_hanging(fixture, hang, STDOUT_SINK,
                  "[[route]]\nmatch = \"far\"\nsink = \"far\"\n[[route]]\nmatch = \">\"\n"
                  "sink = \"out\"\n");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('far', '1'), ('near', '2')");
    started_ms = harness_now_ms();
    start(fixture, &fixture->process, "run");
    start(fixture, &check, "check");
    process_await_words(&fixture->process, "\"topic\":\"near\"");
    assert_in_range(harness_now_ms() - started_ms, 0, ARRIVE_MS);
    expect_check_to_end(&check, hang, started_ms);
    process_await_words(&fixture->process, "is away: its rows wait");
    process_await_words(&fixture->process, hang->says); /* a later probe may say more */
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT 'near', to_jsonb(i)"
                       " FROM generate_series(1, 100) i");
    wait_for_number(fixture->conn, 1, UNSENT);
    expect_status_to_name_the_sink(fixture);
    started_ms = harness_now_ms();
    process_stop(&fixture->process, SIGTERM);
    assert_in_range(harness_now_ms() - started_ms, 0, STOP_MS);
    expect(fixture, fixture->process.status, 0);
    assert_says(fixture->process.err, "[sink.far]");
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM outbox WHERE topic = 'far'"
                  " AND sent_at IS NULL");
    close_listener();
}

TEST(a_broker_that_never_answers_holds_up_only_its_own_rows)
{
    expect_a_hang_to_cost_little(state, &silent);
}

TEST(a_broker_that_falls_silent_in_the_tls_handshake_holds_up_only_its_own_rows)
{
    char command[512];
    char properties[256];
    struct hang hang = silent_tls;

    /* On a busy machine, reading the authorities of the system takes longer than a client may. */
    (void)snprintf(command, sizeof command,
                   "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=nobody -keyout /dev/null"
                   " -out %s/authority.pem 2>&1",
                   harness_folder());
    assert_int_equal(system(command), 0);
    (void)snprintf(properties, sizeof properties, "%s\"ssl.ca.location\" = \"%s/authority.pem\"\n",
                   silent_tls.properties, harness_folder());
    hang.properties = properties;
    expect_a_hang_to_cost_little(state, &hang);
}

TEST(a_broker_that_never_accepts_a_connection_holds_up_only_its_own_rows)
{
    expect_a_hang_to_cost_little(state, &unreachable);
}

TEST(a_broker_whose_name_lookup_hangs_holds_up_only_its_own_rows)
{
    expect_a_hang_to_cost_little(state, &unresolved);
}

TEST(a_kerberos_command_that_hangs_holds_up_only_the_rows_of_its_sink)
{
    expect_a_hang_to_cost_little(state, &kerberos);
}

TEST(a_nats_server_that_never_answers_holds_up_only_its_own_rows)
{
    expect_a_hang_to_cost_little(state, &nats_silent);
}

TEST(a_nats_server_that_never_accepts_a_connection_holds_up_only_its_own_rows)
{
    expect_a_hang_to_cost_little(state, &nats_unreachable);
}

TEST(a_nats_server_whose_name_lookup_hangs_holds_up_only_its_own_rows)
{
    expect_a_hang_to_cost_little(state, &nats_unresolved);
}

TEST(a_nats_server_that_falls_silent_before_tls_holds_up_only_its_own_rows)
{
    expect_a_hang_to_cost_little(state, &nats_silent_tls);
}

FIXTURE_TEST(a_nats_server_that_falls_silent_after_its_greeting_is_tried_again)
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;

    write_hanging(fixture, &nats_silent, "", "");
    start_greeter(ATTEMPTS, "false");
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    while (waitpid(greeter, NULL, WNOHANG) != greeter) {
        assert_true(harness_now_ms() < deadline_ms);
        harness_pause();
    }
    greeter = -1;
    process_stop(&fixture->process, SIGTERM);
    expect(fixture, fixture->process.status, 0);
    close_listener();
}

FIXTURE_TEST(a_plugin_that_does_not_start_is_refused_in_time)
{
    static const struct hang plugin = {"kafka", "127.0.0.1:1", 0,
                                       "\"plugin.library.paths\" = \"build/hanging.so\"\n", ""};
    enum { COMMANDS = 3 };
    static const char *const commands[COMMANDS] = {"check", "run", "status"};
    struct process processes[COMMANDS];
    int64_t started_ms;

    write_hanging(fixture, &plugin, "", "");
    started_ms = harness_now_ms();
    for (size_t i = 0; i < COMMANDS; i++)
        process_start(&processes[i], NULL, commands[i], "-c", fixture->config, NULL);
    for (size_t i = 0; i < COMMANDS; i++) {
        process_wait(&processes[i]);
        assert_int_equal(processes[i].status, 2);
        assert_says(processes[i].err,
                    "\"plugin.library.paths\": a plugin does not start within 5 s");
        process_free(&processes[i]);
    }
    assert_in_range(harness_now_ms() - started_ms, HANGS_MS, CHECK_MS);
}

/* Accepts and closes so many connections. */
static void close_connections(int count)
{
    int64_t deadline_ms = harness_now_ms() + 3 * (int64_t)HARNESS_WAIT_MS;
    struct pollfd connection = {.fd = listener, .events = POLLIN};

    while (count > 0) {
        assert_true(harness_now_ms() < deadline_ms);
        if (poll(&connection, 1, 100) == 1) {
            (void)close(accept(listener, NULL, NULL));
            count--;
        }
    }
}

FIXTURE_TEST(a_broker_that_closes_each_connection_costs_a_line_for_each_reason)
{
    static const struct hang closing = {"kafka", NULL, BACKLOG, "\"security.protocol\" = \"ssl\"\n",
                                        ""};
    struct process *process = &fixture->process;

    write_hanging(fixture, &closing, "", "");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('far', '1')");
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    close_connections(CONNECTIONS);
    process_await_words(process, "error=\"[sink.far] kafka at ");
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    assert_int_equal(process_count_words(process, "librdkafka: "), 0);
    assert_in_range(process_count_words(process, "level=error"), 1, 4);
    close_listener();
}

/* With a single lane no other lane tries the other server. */
FIXTURE_TEST(a_server_whose_lookup_hangs_does_not_take_the_others_of_its_sink_away)
{
    char rest[512];

    (void)snprintf(rest, sizeof rest,
                   "lanes = 1\n[sink.bus]\ntype = \"nats\"\nstream = \"HANGS\"\ncreate = true\n"
                   "allow = [\"hangs.>\"]\nservers = [\"nats://server.hangs.test:4222\", \"%s\"]\n",
                   harness_env("TEST_NATS_URL"));
    write_config(fixture, "", rest);
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('hangs.a', '1')");
    start(fixture, &fixture->process, "run");
    wait_for_number(fixture->conn, 0, UNSENT);
    process_stop(&fixture->process, SIGTERM);
    expect(fixture, fixture->process.status, 0);
}
