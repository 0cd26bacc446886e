/* Something between the program and PostgreSQL that sends some statements to another server, as
 * pgpool-II with load balancing does. Here both are the same server, and differ in their backends.
 */
#include "integration/program.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SSL_REQUEST = 80877103, GSS_REQUEST = 80877104 };

static struct {
    atomic_int *balances; /* shared with the balancer */
    pid_t pid;
    int port;
} balancer;

static int dial_server(void)
{
    const struct sockaddr_in at = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)strtol(harness_env("TEST_PG_PORT"), NULL, 10)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) == 0 ? fd : -1;
}

static bool read_all(int fd, char *out, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t got = recv(fd, out + at, len - at, 0);

        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

static bool write_all(int fd, const char *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t put = send(fd, bytes + at, len - at, MSG_NOSIGNAL);

        if (put <= 0)
            return false;
        at += (size_t)put;
    }
    return true;
}

static uint32_t length_in(const char *bytes)
{
    uint32_t len;

    memcpy(&len, bytes, sizeof len);
    return ntohl(len);
}

/* One message with its type, at most so long; its length, or 0. */
static size_t read_message(int fd, char *out, size_t size)
{
    size_t len;

    if (!read_all(fd, out, 5))
        return 0;
    len = 1 + (size_t)length_in(out + 1);
    return len <= size && read_all(fd, out + 5, len - 5) ? len : 0;
}

/* Everything up to ReadyForQuery. `client`: -1 for nobody. */
static bool pass_answer(int server, int client)
{
    static char message[1 << 20];
    size_t len;

    do {
        len = read_message(server, message, sizeof message);
        if (len == 0 || (client >= 0 && !write_all(client, message, len)))
            return false;
    } while (message[0] != 'Z');
    return true;
}

/* The packet with which a connection begins, for both servers. */
static bool open_both(int client, const int servers[2])
{
    char packet[4096];
    uint32_t len;

    do {
        if (!read_all(client, packet, 4))
            return false;
        len = length_in(packet);
        if (len > sizeof packet || !read_all(client, packet + 4, len - 4))
            return false;
        if (len == 8 && !write_all(client, "N", 1))
            return false;
    } while (len == 8);
    for (int i = 0; i < 2; i++)
        if (!write_all(servers[i], packet, len) || !pass_answer(servers[i], i == 0 ? client : -1))
            return false;
    return true;
}

/* Whether statements only read: they begin with SELECT, lock nothing and call nothing volatile. */
static bool only_reads(const char *bytes, size_t len)
{
    static const char *const writes[] = {"set_config", "FOR UPDATE", "pg_notify",
                                         "pg_walfile_name"};
    bool reads =
        memmem(bytes, len, "SELECT", 6) != NULL || memmem(bytes, len, "horizon_", 8) != NULL;

    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
        reads = reads && memmem(bytes, len, writes[i], strlen(writes[i])) == NULL;
    return reads;
}

/* Until the client says something; what the first server says meanwhile is a notification. */
static bool await_client(int client, int server)
{
    static char message[65536];
    struct pollfd sockets[2] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};

    while (poll(sockets, 2, -1) > 0) {
        size_t len;

        if (sockets[0].revents != 0)
            return true;
        len = read_message(server, message, sizeof message);
        if (len == 0 || !write_all(client, message, len))
            return false;
    }
    return false;
}

/* What one client sends up to a Sync or a Query goes to one server. */
static void serve(int client)
{
    static char bytes[1 << 21];
    const int servers[2] = {dial_server(), dial_server()};

    if (servers[0] < 0 || servers[1] < 0 || !open_both(client, servers))
        return;
    for (;;) {
        size_t len = 0;
        size_t added;
        char type;
        int server;

        if (!await_client(client, servers[0]))
            return;
        do {
            added = read_message(client, bytes + len, sizeof bytes - len);
            if (added == 0)
                return;
            type = bytes[len];
            len += added;
        } while (type != 'S' && type != 'Q' && type != 'X');
        server = atomic_load(balancer.balances) != 0 && only_reads(bytes, len) ? 1 : 0;
        if (type == 'X' || !write_all(servers[server], bytes, len) ||
            !pass_answer(servers[server], client))
            return;
    }
}

static void balance(int listener)
{
    (void)signal(SIGCHLD, SIG_IGN);
    for (;;) {
        int client = accept(listener, NULL, NULL);

        if (client >= 0 && fork() == 0) {
            serve(client);
            _exit(0);
        }
        (void)close(client);
    }
}

static void start_balancer(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    balancer.balances = mmap(NULL, sizeof *balancer.balances, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(balancer.balances != MAP_FAILED);
    assert_int_equal(bind(listener, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 64), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    balancer.port = ntohs(at.sin_port);
    balancer.pid = fork();
    assert_true(balancer.pid >= 0);
    if (balancer.pid == 0) {
        (void)setpgid(0, 0);
        balance(listener);
    }
    (void)setpgid(balancer.pid, balancer.pid);
    (void)close(listener);
}

static void configure_default(struct fixture *fixture)
{
    configure(fixture);
}

static int set_up_balanced(void **state)
{
    struct fixture *fixture;

    if (fixture_open(state, configure_default) < 0)
        return -1;
    fixture = *state;
    start_balancer();
    (void)snprintf(fixture->config, sizeof fixture->config, "%s",
                   harness_file("relay.toml",
                                "[database]\nurl = \"postgresql://" HARNESS_RELAY
                                "@127.0.0.1:%d/%s\"\n[outbox]\norder = \"none\"\n[relay]\n"
                                "poll_interval = \"50ms\"\n[http]\nlisten = \"\"\n" STDOUT_SINK
                                "\n",
                                balancer.port, PQdb(fixture->conn)));
    return 0;
}

static int tear_down_balanced(void **state)
{
    (void)kill(-balancer.pid, SIGKILL);
    (void)waitpid(balancer.pid, NULL, 0);
    (void)munmap(balancer.balances, sizeof *balancer.balances);
    return fixture_close(state);
}

FIXTURE(set_up_balanced, tear_down_balanced)

FIXTURE_TEST(a_load_balancer_is_refused_by_every_command_and_nothing_is_sent)
{
    atomic_store(balancer.balances, 1);
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT 't', '1'"
                       " FROM generate_series(1, 500)");
    expect(fixture, run_drain(fixture), 3);
    assert_says(fixture->process.err,
                "load balancer, which sends some statements to another server");
    assert_number(fixture->conn, 500, UNSENT);
    expect_run(fixture, 3, "check");
    assert_says(fixture->process.out, "load balancer");
    expect_run(fixture, 3, "status");
}

/* Its configuration may be changed at any time. */
FIXTURE_TEST(a_balancer_that_begins_to_balance_is_noticed_under_way)
{
    struct process relay;

    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('t', '1')");
    wait_for_number(fixture->conn, 0, UNSENT);
    atomic_store(balancer.balances, 1);
    process_await_words(&relay, "load balancer, which sends some statements to another server");
    process_stop(&relay, SIGTERM);
    process_free(&relay);
}
