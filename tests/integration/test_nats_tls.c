#include "broker/broker.h"
#include "integration/nats_fixture.h"

#include <arpa/inet.h>
#include <sys/socket.h>

/* The real server over TLS, with certificates of the test's own. There the library's threads write
 * and read. */

static char folder[] = "/tmp/test_tls.XXXXXX";
static char ca_path[64];
static char tls_url[96];

static int make_certificates(void **state)
{
    char command[128];

    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(ca_path, sizeof ca_path, "%s/ca.pem", folder);
    (void)snprintf(command, sizeof command, "tests/support/certificates %s", folder);
    return system(command);
}

static int remove_certificates(void **state)
{
    char command[64];

    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? close_library(state) : -1;
}

ONCE(make_certificates, remove_certificates)

static void connect_trusting(const char *user)
{
    natsOptions *library = NULL;

    disconnect_reader();
    assert_int_equal(natsOptions_Create(&library), NATS_OK);
    assert_int_equal(natsOptions_SetURL(library, tls_url), NATS_OK);
    assert_int_equal(natsOptions_SetSecure(library, true), NATS_OK);
    assert_int_equal(natsOptions_SkipServerVerification(library, true), NATS_OK);
    assert_int_equal(natsOptions_SetUserInfo(library, user, user), NATS_OK);
    assert_int_equal(natsConnection_Connect(&connection, library), NATS_OK);
    natsOptions_Destroy(library);
    assert_int_equal(natsConnection_JetStream(&context, connection, NULL), NATS_OK);
}

/* A server with this certificate, its stream, and a sink that trusts the authority. */
static void open_tls(void **state, const char *certificate)
{
    char config[1024];
    jsStreamConfig stream_config;

    (void)open_broker(state);
    (void)snprintf(config, sizeof config,
                   "jetstream {store_dir: js}\n"
                   "tls { cert_file: \"%s/%s.pem\", key_file: \"%s/%s.key\" }\n"
                   "authorization { users: [{user: admin, password: admin}\n"
                   "  {user: relay, password: relay, permissions: {publish: {allow: [\"%s.in\",\n"
                   "    \"$JS.API.STREAM.INFO.*\"]}, subscribe: [\"_INBOX.>\"]}}]}\n",
                   folder, certificate, folder, certificate, prefix);
    start_own_server(config);
    (void)snprintf(tls_url, sizeof tls_url, "tls://%s", strstr(own_url, "://") + 3);
    connect_trusting("admin");
    (void)jsStreamConfig_Init(&stream_config);
    add_stream(stream, &stream_config, subject_of(">"));
    options.servers.items[0] = tls_url;
    options.username = "relay";
    options.password = "relay";
    options.tls_ca_file = ca_path;
}

static void expect_sent(int count)
{
    batch_reset(&batch);
    for (int i = 0; i < count; i++)
        (void)add_message(&batch, subject_of("in"), NULL, "x");
    publish_quickly();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), count);
    assert_int_equal(stored(stream), count);
    assert_true(((const struct nats *)broker)->threaded);
}

/* A test that was skipped has opened nothing. */
static int close_tls(void **state)
{
    if (broker == NULL)
        return 0;
    (void)teardown(state);
    broker = NULL;
    return 0;
}

FIXTURE(NULL, close_tls)

/* nats.c before 3.11 cannot be told what to verify: there a sink over TLS is refused. */
static void only_where_tls_works(bool works)
{
    if ((NATS_VERSION_NUMBER >= 0x030B00) != works)
        skip();
}

TEST(messages_are_sent_over_tls)
{
    only_where_tls_works(true);
    open_tls(state, "good");
    assert_int_equal(broker_ready(broker, &error), 0);
    expect_sent(BATCH);
    stop_own_server();
}

static void open_without_a_word_of_tls(void **state)
{
    static char plain_url[96];

    open_tls(state, "good");
    (void)snprintf(plain_url, sizeof plain_url, "nats://%s", strstr(own_url, "://") + 3);
    options.servers.items[0] = plain_url;
    options.tls_ca_file = NULL;
}

/* Without a word of TLS in the configuration the system's authorities are trusted. */
TEST(a_server_that_demands_tls_of_a_plain_url_gets_it)
{
    only_where_tls_works(true);
    open_without_a_word_of_tls(state);
    assert_int_equal(broker_ready(broker, &error), -1);
    assert_says(&error, "unable to get local issuer certificate");
    assert_int_equal(setenv("SSL_CERT_FILE", ca_path, 1), 0);
    assert_int_equal(broker_ready(broker, &error), 0);
    expect_sent(10);
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
    stop_own_server();
}

/* Until a client of the proxy or the server closes. */
static void pump(int client, int server)
{
    struct pollfd ends[2] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
    char bytes[4096];

    while (poll(ends, 2, -1) > 0)
        for (int i = 0; i < 2; i++) {
            ssize_t len = ends[i].revents != 0 ? read(ends[i].fd, bytes, sizeof bytes) : -1;

            if (len == 0 || (len > 0 && write(ends[1 - i].fd, bytes, (size_t)len) != len))
                return;
        }
}

/* Passes each connection on to the test's own server, but only after delay_ms. */
static pid_t start_slow_proxy(int delay_ms, char *url, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    pid_t proxy;

    assert_int_equal(bind(listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    (void)snprintf(url, size, "nats://127.0.0.1:%d", ntohs(address.sin_port));
    address.sin_port = htons((uint16_t)strtol(strrchr(own_url, ':') + 1, NULL, 10));
    proxy = fork();
    if (proxy != 0) {
        (void)close(listener);
        return proxy;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int client; (client = accept(listener, NULL, NULL)) >= 0; (void)close(client))
        if (fork() == 0) {
            int server = socket(AF_INET, SOCK_STREAM, 0);

            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)poll(NULL, 0, delay_ms);
            if (connect(server, (struct sockaddr *)&address, len) == 0)
                pump(client, server);
            _exit(0);
        }
    _exit(0);
}

/* The second attempt, over TLS, has no time left; the next ready() begins with it. */
TEST(a_slow_server_that_demands_tls_keeps_nobody_waiting_twice)
{
    static char slow_url[64];
    int64_t began_ms;
    pid_t proxy;

    only_where_tls_works(true);
    open_without_a_word_of_tls(state);
    proxy = start_slow_proxy(1700, slow_url, sizeof slow_url);
    options.servers.items[0] = slow_url;
    assert_int_equal(setenv("SSL_CERT_FILE", ca_path, 1), 0);
    broker->connect_timeout_ms = 2000;
    began_ms = clock_now_ms();
    assert_int_equal(broker_ready(broker, &error), -1);
    assert_true(clock_now_ms() - began_ms < 2000 + 1000);
    wait_until_ready();
    expect_sent(10);
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
    assert_int_equal(kill(proxy, SIGKILL), 0);
    assert_int_equal(waitpid(proxy, NULL, 0), proxy);
    stop_own_server();
}

TEST(silence_over_tls_ends_the_wait_at_the_deadline)
{
    int64_t started_ms;

    only_where_tls_works(true);
    open_tls(state, "good");
    options.publish_timeout_ms = 500;
    assert_int_equal(broker_ready(broker, &error), 0);
    for (int i = 0; i < BATCH; i++)
        (void)add_message(&batch, subject_of("in"), NULL, "x");
    pause_own_server();
    started_ms = clock_now_ms();
    assert_int_equal(publish_within(500), -1);
    assert_in_range(clock_now_ms() - started_ms, 0, 500 + SLACK_MS);
    assert_says(&error, "500 messages were not acknowledged (no valid answer in time)");
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), BATCH);
    assert_int_equal(kill(own_server, SIGCONT), 0);
    wait_until_ready();
    publish();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), BATCH);
    assert_int_equal(stored(stream), BATCH);
    stop_own_server();
}

TEST(a_forbidden_subject_waits_over_tls_beside_what_is_sent)
{
    only_where_tls_works(true);
    open_tls(state, "good");
    assert_int_equal(broker_ready(broker, &error), 0);
    for (int i = 0; i < 20; i++)
        (void)add_message(&batch, subject_of(i % 2 == 0 ? "in" : "out"), NULL, "x");
    publish_quickly();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 10);
    assert_int_equal(count_verdicts(&batch, VERDICT_WAIT), 10);
    assert_refused(&batch.messages[1], VERDICT_WAIT, "not permitted to publish to");
    stop_own_server();
}

/* ---- with a library that does not keep a TLS connection in order ---- */

TEST(a_server_that_demands_tls_of_a_plain_url_is_refused_with_the_reason)
{
    only_where_tls_works(false);
    open_without_a_word_of_tls(state);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(broker_ready(broker, &error), -1);
        assert_int_equal(error.kind, ERROR_PERMANENT);
        assert_says(&error, "servers: the server requires TLS, and TLS to NATS needs nats.c 3.11");
        assert_int_equal(setenv("SSL_CERT_FILE", ca_path, 1), 0);
    }
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
    stop_own_server();
}
