/*
 * Every way to log in to a NATS server, with TLS and without: the right one brings a row there, and
 * a wrong one is refused with the cause and the key to change, and moves no row.
 *
 * A nats.c before 3.11 reads and writes one TLS connection from two threads without a lock: there,
 * every way over TLS is refused.
 */
#include "integration/nats_server.h"
#include "integration/program.h"

#include <arpa/inet.h>
#include <nats/nats.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define TLS_IS_SAFE (NATS_VERSION_NUMBER >= 0x030B00)
#define FOLDER_BYTES 64

static char folder[] = "/tmp/test_logins.XXXXXX";

static int make_logins(void **state)
{
    char command[256];

    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(command, sizeof command,
                   "python3 tests/support/nats_logins.py %s && tests/support/certificates %s",
                   folder, folder);
    return system(command);
}

static int remove_logins(void **state)
{
    char command[FOLDER_BYTES + 16];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

ONCE(make_logins, remove_logins)

/* "@" becomes the folder of keys and certificates. */
static const char *in_folder(const char *text)
{
    static char out[2][1024];
    static int next;
    char *at = out[next++ % 2];
    size_t len = 0;

    for (; *text != '\0' && len + FOLDER_BYTES < sizeof out[0]; text++)
        if (*text == '@')
            len += (size_t)snprintf(at + len, sizeof out[0] - len, "%s", folder);
        else
            at[len++] = *text;
    assert_true(*text == '\0');
    at[len] = '\0';
    return at;
}

static const char *contents(const char *name)
{
    static char text[OWN_CONFIG_BYTES];
    char path[FOLDER_BYTES + 32];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

/* A server: what it asks for, and the certificate it shows (NULL: it speaks no TLS). */
struct server {
    const char *users; /* "@FILE": that file's text */
    const char *certificate;
    bool verifies; /* its clients' certificates */
};

static const char *domain = ""; /* of its JetStream, ", domain: NAME" */

static void start_server(const struct server *server)
{
    char config[OWN_CONFIG_BYTES];
    char tls[512] = "";

    if (server->certificate != NULL)
        (void)snprintf(
            tls, sizeof tls,
            "tls { cert_file: \"%s/%s.pem\", key_file: \"%s/%s.key\", ca_file: \"%s/ca.pem\", "
            "verify: %s }\n",
            folder, server->certificate, folder, server->certificate, folder,
            server->verifies ? "true" : "false");
    (void)snprintf(config, sizeof config, "http: 127.0.0.1:-1\njetstream {store_dir: js%s}\n%s%s\n",
                   domain, tls,
                   server->users[0] == '@' ? contents(server->users + 1) : server->users);
    start_own_server(config);
}

/* The number of messages in all its streams, as its HTTP monitoring says. */
static long long stored_messages(void)
{
    static const char request[] = "GET /jsz HTTP/1.0\r\n\r\n";
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)own_port("http://"))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    static char text[16384];
    const char *found;
    size_t len = 0;
    ssize_t got;

    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(write(fd, request, sizeof request - 1), sizeof request - 1);
    while ((got = read(fd, text + len, sizeof text - 1 - len)) > 0)
        len += (size_t)got;
    (void)close(fd);
    text[len] = '\0';
    found = strstr(text, "\"messages\": ");
    assert_non_null(found);
    return strtoll(found + strlen("\"messages\": "), NULL, 10);
}

static void use_sink(struct fixture *fixture, const char *scheme, const char *rest)
{
    char sink[2048];

    (void)snprintf(sink, sizeof sink,
                   "publish_timeout = \"2s\"\n[sink.bus]\ntype = \"nats\"\nstream = \"EVENTS\"\n"
                   "servers = [\"%s://127.0.0.1:%d\"]\ncreate = true\nallow = [\"in.>\"]\n%s\n",
                   scheme, own_port(strncmp(own_url, "tls", 3) == 0 ? "tls://" : "nats://"),
                   in_folder(rest));
    write_config(fixture, "", sink);
}

static void write_config_without_create(struct fixture *fixture)
{
    char sink[256];

    (void)snprintf(sink, sizeof sink,
                   "[sink.bus]\ntype = \"nats\"\nstream = \"NONE\"\nservers ="
                   " [\"nats://127.0.0.1:%d\"]\nallow = [\"in.>\"]\n",
                   own_port("nats://"));
    write_config(fixture, "", sink);
}

static void use_empty_outbox(struct fixture *fixture)
{
    sql(fixture->conn, "TRUNCATE outbox");
}

static void emit_row(struct fixture *fixture)
{
    expect_run(fixture, 0, "emit", "in.x", "k", "{}");
}

static long long unsent(struct fixture *fixture)
{
    return sql_number(fixture->conn, UNSENT);
}

static void expect_row_arrives(struct fixture *fixture)
{
    expect_run(fixture, 0, "init");
    expect_run(fixture, 0, "check");
    emit_row(fixture);
    expect(fixture, run_drain(fixture), 0);
    assert_int_equal(unsent(fixture), 0);
    assert_int_equal(stored_messages(), 1);
}

/* `check` prints both and fails; `run` logs the key and goes on, and the row stays. */
static void expect_refusal(struct fixture *fixture, const char *cause, const char *key)
{
    int status = run(fixture, "check", "-c", fixture->config);
    char name[64];

    if (status == 0)
        fail_msg("it was not refused: %s", fixture->process.out);
    (void)snprintf(name, sizeof name, "[sink.bus] %s", key);
    assert_says(fixture->process.out, cause);
    assert_says(fixture->process.out, name);
    assert_null(strstr(fixture->process.out, "s3cret"));
    emit_row(fixture);
    process_free(&fixture->process);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&fixture->process, name);
    process_stop(&fixture->process, SIGTERM);
    assert_null(strstr(fixture->process.err, "s3cret"));
    assert_int_equal(unsent(fixture), 1);
    assert_int_equal(stored_messages(), 0);
}

static void expect_tls_refused(struct fixture *fixture)
{
    expect_refusal(fixture, "TLS to NATS needs nats.c 3.11 or later", "servers");
}

/* ---- who may log in ---- */

#define USER "authorization { users: [{user: relay, password: s3cret}] }"
#define TOKEN "authorization { token: s3cret }"
#define CA "tls_ca_file = \"@/ca.pem\"\n"
#define BY_PASSWORD "username = \"relay\"\npassword = \"s3cret\"\n"
#define CERTIFICATE(name) "tls_cert_file = \"@/" name ".pem\"\ntls_key_file = \"@/" name ".key\"\n"

static const struct {
    const char *users;
    const char *sink;
} logins[] = {
    {USER, BY_PASSWORD},
    {TOKEN, "token = \"s3cret\"\n"},
    {"@nkeys.conf", "nkey = \"${RELAY_NKEY}\"\nnkey_file = \"@/relay.nk\"\n"},
    {"@operator.conf", "credentials_file = \"@/relay.creds\"\n"},
};

#define LOGINS (sizeof logins / sizeof logins[0])

static void set_nkeys(void)
{
    assert_int_equal(setenv("RELAY_NKEY", contents("relay.pub"), 1), 0);
    assert_int_equal(setenv("STRANGER_NKEY", contents("stranger.pub"), 1), 0);
}

/* Without headers JetStream would store every repeat. */
FIXTURE_TEST(a_server_that_takes_no_headers_is_refused)
{
    start_server(&(struct server){.users = "no_header_support: true"});
    use_sink(fixture, "nats", "");
    assert_int_not_equal(run(fixture, "check", "-c", fixture->config), 0);
    assert_says(fixture->process.out, "the server takes no headers");
    assert_says(fixture->process.out, "remove no_header_support");
    end_own_server();
}

FIXTURE_TEST(a_stream_of_another_jetstream_domain_is_named_and_reached)
{
    domain = ", domain: hub";
    start_server(&(struct server){.users = ""});
    domain = "";
    use_empty_outbox(fixture);
    use_sink(fixture, "nats", "domain = \"hub\"\n");
    expect_row_arrives(fixture);
    use_sink(fixture, "nats", "domain = \"elsewhere\"\n");
    assert_int_not_equal(run(fixture, "check", "-c", fixture->config), 0);
    assert_says(fixture->process.out, "no server of the JetStream domain \"elsewhere\" answers");
    write_config_without_create(fixture);
    assert_int_not_equal(run(fixture, "check", "-c", fixture->config), 0);
    assert_says(fixture->process.out, "another JetStream domain than the server's, \"hub\"");
    assert_says(fixture->process.out, "domain = \"NAME\" in [sink.bus]");
    end_own_server();
}

/* Without TLS first. */
FIXTURE_TEST(each_way_to_log_in_brings_a_row_to_the_server_or_tls_is_refused)
{
    set_nkeys();
    for (size_t i = 0; i < 2 * LOGINS; i++) {
        bool has_tls = i >= LOGINS;
        char sink[512];

        start_server(&(struct server){.users = logins[i % LOGINS].users,
                                      .certificate = has_tls ? "good" : NULL});
        use_empty_outbox(fixture);
        (void)snprintf(sink, sizeof sink, "%s%s", has_tls ? CA : "", logins[i % LOGINS].sink);
        use_sink(fixture, has_tls ? "tls" : "nats", sink);
        if (!has_tls || TLS_IS_SAFE)
            expect_row_arrives(fixture);
        else
            expect_tls_refused(fixture);
        end_own_server();
    }
}

FIXTURE_TEST(a_certificate_authority_alone_asks_for_tls_too)
{
    start_server(&(struct server){"", "good", false});
    use_sink(fixture, "nats", CA);
    if (TLS_IS_SAFE)
        expect_row_arrives(fixture);
    else
        expect_refusal(fixture, "TLS to NATS needs nats.c 3.11 or later", "tls_ca_file");
    end_own_server();
}

FIXTURE_TEST(a_client_certificate_works_or_tls_is_refused)
{
    start_server(&(struct server){"", "good", true});
    use_sink(fixture, "tls", CA CERTIFICATE("client"));
    if (TLS_IS_SAFE)
        expect_row_arrives(fixture);
    else
        expect_tls_refused(fixture);
    end_own_server();
}

struct refused_login {
    const char *users; /* of the server */
    const char *sink;
    const char *key; /* which the refusal names */
};

static void expect_each_login_refused(struct fixture *fixture, const struct refused_login *refused,
                                      size_t count, const char *says)
{
    set_nkeys();
    for (size_t i = 0; i < count; i++) {
        start_server(&(struct server){.users = refused[i].users});
        use_empty_outbox(fixture);
        use_sink(fixture, "nats", refused[i].sink);
        expect_refusal(fixture, says, refused[i].key);
        end_own_server();
    }
}

TEST(a_wrong_login_is_refused_with_the_key_to_change)
{
    static const struct refused_login refused[] = {
        {USER, "username = \"relay\"\npassword = \"wrong\"\n", "password"},
        {USER, "username = \"relay\"\npassword_file = \"@/relay.pub\"\n", "password_file"},
        {USER, "", "username"},
        {TOKEN, "token = \"wrong\"\n", "token"},
        {TOKEN, "token_file = \"@/relay.pub\"\n", "token_file"},
        {"@nkeys.conf", "nkey = \"${STRANGER_NKEY}\"\nnkey_file = \"@/stranger.nk\"\n", "nkey"},
        {"@nkeys.conf", "nkey = \"${RELAY_NKEY}\"\nnkey_file = \"@/stranger.nk\"\n", "nkey"},
        {"@operator.conf", "credentials_file = \"@/stranger.creds\"\n", "credentials_file"},
        {"@operator.conf", "credentials_file = \"@/expired.creds\"\n",
         "credentials_file: its user JWT has expired at 2"},
        {"@operator.conf", BY_PASSWORD, "username"},
    };

    expect_each_login_refused(*state, refused, sizeof refused / sizeof *refused, "uthoriz");
}

TEST(a_file_that_is_no_login_is_refused_with_its_key)
{
    static const struct refused_login refused[] = {
        {"@nkeys.conf", "nkey = \"${RELAY_NKEY}\"\nnkey_file = \"@/ca.pem\"\n", "nkey_file"},
        {"@operator.conf", "credentials_file = \"@/ca.pem\"\n", "credentials_file"},
    };

    expect_each_login_refused(*state, refused, sizeof refused / sizeof *refused, "");
}

/* ---- who is trusted ---- */

struct end {
    struct server server;
    const char *scheme;
    const char *sink;
    const char *cause;
    const char *key;
};

static void expect_each_refused(struct fixture *fixture, const struct end *ends, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        start_server(&ends[i].server);
        use_empty_outbox(fixture);
        use_sink(fixture, ends[i].scheme, ends[i].sink);
        if (TLS_IS_SAFE || ends[i].server.certificate == NULL)
            expect_refusal(fixture, ends[i].cause, ends[i].key);
        else
            expect_tls_refused(fixture);
        end_own_server();
    }
}

TEST(a_server_that_proves_nothing_is_refused)
{
    static const struct end ends[] = {
        {{"", "expired", false}, "tls", CA, "certificate has expired", "servers"},
        {{"", "stranger", false}, "tls", CA, "self-signed certificate", "tls_ca_file"},
        {{"", "other", false}, "tls", CA, "IP address mismatch", "servers"},
        {{"", "good", false}, "tls", "", "unable to get local issuer certificate", "tls_ca_file"},
        {{"", "good", false}, "nats", "", "TLS", "servers"},
    };

    expect_each_refused(*state, ends, sizeof ends / sizeof ends[0]);
}

FIXTURE_TEST(a_server_without_tls_is_refused_when_tls_is_asked_for)
{
    start_server(&(struct server){.users = USER});
    use_sink(fixture, "tls", CA BY_PASSWORD);
    if (TLS_IS_SAFE)
        expect_refusal(fixture, "TLS", "servers");
    else
        expect_tls_refused(fixture);
    assert_int_equal(own_log_count("authentication error"), 0); /* the password was not sent */
    end_own_server();
}

TEST(a_server_that_wants_a_certificate_refuses_none_and_a_strangers)
{
    static const struct end ends[] = {
        {{"", "good", true}, "tls", CA, "certificate", "tls_cert_file"},
        {{"", "good", true}, "tls", CA CERTIFICATE("intruder"), "certificate", "tls_cert_file"},
    };

    expect_each_refused(*state, ends, sizeof ends / sizeof ends[0]);
}

static int close_test(void **state)
{
    if (own_server > 0)
        end_own_server();
    return fixture_close(state);
}

FIXTURE(set_up, close_test)
