/* A server, or a lookup, that hangs while the program connects: every try ends by its deadline, and
 * a signal is obeyed meanwhile. */
#include "integration/program.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

FIXTURE(set_up, fixture_close)

#define LIMIT_MS 9000 /* of a host: eight addresses of a second, and one */
#define SLACK_MS 5000 /* for a machine that is busy */

struct silent_server {
    int socket;
    int port;
    bool agrees_to_tls; /* it answers the request for TLS, and then nothing */
    pthread_t thread;
};

static void *serve(void *argument)
{
    struct silent_server *server = argument;
    char request[8];
    int client;

    while ((client = accept(server->socket, NULL, NULL)) >= 0)
        if (server->agrees_to_tls && recv(client, request, sizeof request, MSG_WAITALL) == 8)
            (void)!write(client, "S", 1); /* it stays open until the test ends */
    return NULL;
}

/* At 127.0.0.HOST; port 0: one of its own. */
static void start_server_at(struct silent_server *server, unsigned host, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t len = sizeof address;

    address.sin_addr.s_addr = htonl(0x7f000000 + host);
    server->socket = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server->socket, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->socket, 100), 0);
    assert_int_equal(getsockname(server->socket, (struct sockaddr *)&address, &len), 0);
    server->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void start_server(struct silent_server *server)
{
    start_server_at(server, 1, 0);
}

static void stop_server(struct silent_server *server)
{
    (void)shutdown(server->socket, SHUT_RDWR);
    assert_int_equal(pthread_join(server->thread, NULL), 0);
    (void)close(server->socket);
}

static void connect_to(struct fixture *fixture, const char *words, int port)
{
    (void)snprintf(fixture->url, sizeof fixture->url,
                   "%s port=%d dbname=x user=u connect_timeout=1", words, port);
    configure(fixture);
}

static void check_ends(struct fixture *fixture, const char *says)
{
    int64_t began_ms = harness_now_ms();

    expect_run(fixture, 3, "check");
    assert_says(fixture->process.out, says);
    assert_in_range(harness_now_ms() - began_ms, 1000, LIMIT_MS + SLACK_MS);
}

/* The signal comes while a try is under way. */
static void run_obeys(struct fixture *fixture, const char *says, int times)
{
    struct process *process = &fixture->process;
    int64_t began_ms;

    process_free(process);
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    process_await_times(process, says, times);
    began_ms = harness_now_ms();
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    assert_in_range(harness_now_ms() - began_ms, 0, LIMIT_MS + SLACK_MS);
}

TEST(a_server_that_accepts_and_says_nothing_is_given_up)
{
    struct silent_server server = {.agrees_to_tls = false};

    start_server(&server);
    connect_to(*state, "host=127.0.0.1", server.port);
    check_ends(*state, "timeout expired");
    run_obeys(*state, "timeout expired", 1);
    stop_server(&server);
}

TEST(a_server_that_falls_silent_in_the_tls_handshake_is_given_up)
{
    struct silent_server server = {.agrees_to_tls = true};

    start_server(&server);
    connect_to(*state, "host=127.0.0.1 sslmode=require", server.port);
    check_ends(*state, "timeout expired");
    run_obeys(*state, "timeout expired", 1);
    stop_server(&server);
}

static int count_threads(pid_t pid)
{
    char path[64];
    DIR *folder;
    int count = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    (void)closedir(folder);
    return count;
}

FIXTURE_TEST(a_name_lookup_that_hangs_is_given_up_and_costs_each_lane_one_thread)
{
    struct process *process = &fixture->process;
    int64_t began_ms;

    preload("build/hanging.so");
    connect_to(fixture, "host=db.hangs.test sslmode=verify-full", 5432);
    check_ends(fixture, "no connection within 9 s; a name lookup or the server may be hanging");
    process_free(process);
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(process, "no connection within 9 s"); /* said once, not by each lane */
    process_await_words(
        process, "the previous connection attempt is still running; a name lookup or the server "
                 "may be hanging");
    /* Main, two lanes, the watcher and the janitor; and a lookup of each but main. */
    assert_in_range(count_threads(process->pid), 5, 9);
    began_ms = harness_now_ms();
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    assert_in_range(harness_now_ms() - began_ms, 0, LIMIT_MS + SLACK_MS);
    preload_nothing();
}

/* Nothing is in flight that could be settled; shutdown_timeout is 15 s. */
FIXTURE_TEST(sigterm_does_not_wait_for_a_name_lookup_that_hangs)
{
    struct process *process = &fixture->process;
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;
    int64_t began_ms;

    preload("build/hanging.so");
    (void)snprintf(fixture->url, sizeof fixture->url,
                   "host=db.hangs.test sslmode=verify-full dbname=x user=u connect_timeout=600");
    configure(fixture);
    process_free(process);
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    preload_nothing();
    while (count_threads(process->pid) < 8) { /* two lanes and the watcher look the name up */
        assert_true(harness_now_ms() < deadline_ms);
        harness_pause();
    }
    began_ms = harness_now_ms();
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    assert_in_range(harness_now_ms() - began_ms, 0, 6000);
}

FIXTURE_TEST(a_host_is_reached_whose_first_three_addresses_are_silent)
{
    struct silent_server servers[3] = {{.agrees_to_tls = false}};
    int port = (int)strtol(harness_env("TEST_PG_PORT"), NULL, 10);

    for (unsigned i = 0; i < 3; i++)
        start_server_at(&servers[i], 11 + i, port);
    preload("build/hanging.so");
    (void)snprintf(fixture->url, sizeof fixture->url,
                   "host=four.addresses.test port=%d dbname=%s user=" HARNESS_RELAY
                   " connect_timeout=1 sslmode=disable",
                   port, PQdb(fixture->conn));
    configure(fixture);
    expect_run(fixture, 0, "check");
    preload_nothing();
    for (unsigned i = 0; i < 3; i++)
        stop_server(&servers[i]);
}
