/*
 * The ways to a Kafka broker that ask for a certificate or a login, each against Apache Kafka: the
 * right ones carry a row, the wrong ones are refused with the cause and the key to change. The
 * tests have a broker of their own, with a listener for each way, and certificates that they make.
 */
#include "integration/program.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

FIXTURE(set_up, fixture_close)

#define START_MS 400000 /* with the download, on a bare machine */
#define TOPIC "tls"
#define SSL "\"security.protocol\" = \"SSL\"\n"
#define SASL(mechanism, password)                                                                  \
    "\"security.protocol\" = \"SASL_SSL\"\n\"sasl.mechanism\" = \"" mechanism "\"\n"               \
    "\"sasl.username\" = \"relay\"\n\"sasl.password\" = \"" password "\"\n"
#define CA "\"ssl.ca.location\" = \"%1$s/ca.pem\"\n"
#define CLIENT(name)                                                                               \
    "\"ssl.certificate.location\" = \"%1$s/" name ".pem\"\n"                                       \
    "\"ssl.key.location\" = \"%1$s/" name ".key\"\n"

static char folder[64] = "/tmp/relay-kafka-tls-XXXXXX";
static pid_t broker;

static void add_options(char *out, size_t size, const char *format, const char *listener)
{
    size_t len = strlen(out);

    (void)snprintf(out + len, size - len, format, listener, folder);
    assert_true(strlen(out) < size - 1);
}

/* Lines of server.properties; services takes a ";" for the end of a line, Java takes \u003b for
 * one. */
static void set_options(void)
{
    static const char *const listeners[][2] = {{"good", "good"},   {"expired", "expired"},
                                               {"other", "other"}, {"self", "stranger"},
                                               {"mutual", "good"}, {"login", "good"}};
    char options[4096] = "";

    for (size_t i = 0; i < sizeof listeners / sizeof *listeners; i++) {
        add_options(options, sizeof options,
                    "listener.name.%1$s.ssl.keystore.type=PEM;"
                    "listener.name.%1$s.ssl.keystore.location=%2$s/",
                    listeners[i][0]);
        add_options(options, sizeof options, "%s.both;", listeners[i][1]);
    }
    add_options(options, sizeof options,
                "listener.name.%1$s.ssl.client.auth=required;"
                "listener.name.%1$s.ssl.truststore.type=PEM;"
                "listener.name.%1$s.ssl.truststore.location=%2$s/ca.pem;",
                "mutual");
    add_options(options, sizeof options,
                "listener.name.%1$s.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512;"
                "listener.name.%1$s.plain.sasl.jaas.config=org.apache.kafka.common.security.plain."
                "PlainLoginModule required user_relay=\"right\"\\u003b;",
                "login");
    add_options(options, sizeof options,
                "listener.name.login.scram-sha-%1$s.sasl.jaas.config=org.apache.kafka.common."
                "security.scram.ScramLoginModule required\\u003b;",
                "256");
    add_options(options, sizeof options,
                "listener.name.login.scram-sha-%1$s.sasl.jaas.config=org.apache.kafka.common."
                "security.scram.ScramLoginModule required\\u003b;",
                "512");
    /* So that clients have to log in again. */
    add_options(options, sizeof options, "%sconnections.max.idle.ms=1000;", "");
    assert_int_equal(setenv("TEST_KAFKA_OPTIONS", options, 1), 0);
    assert_int_equal(setenv("TEST_KAFKA_LISTENERS",
                            "GOOD=SSL EXPIRED=SSL OTHER=SSL SELF=SSL MUTUAL=SSL LOGIN=SASL_SSL", 1),
                     0);
    assert_int_equal(setenv("TEST_KAFKA_FORMAT",
                            "--add-scram SCRAM-SHA-256=[name=relay,password=right]"
                            " --add-scram SCRAM-SHA-512=[name=relay,password=right]"
                            " --add-scram SCRAM-SHA-256=[name=rotated,password=first]",
                            1),
                     0);
    assert_int_equal(setenv("TEST_KAFKA_JAVA", "-XX:TieredStopAtLevel=1", 1), 0);
}

/* When the broker is up its configuration, with the addresses, is copied into the folder. */
static void start_broker(void)
{
    char command[512];
    pid_t test = getpid();

    (void)snprintf(command, sizeof command,
                   "cp $TEST_DIR/kafka/server.properties %s/new && mv %s/new %s/ready &&"
                   " exec sleep 1000",
                   folder, folder, folder);
    broker = fork();
    assert_true(broker >= 0);
    if (broker != 0)
        return;
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == test)
        (void)execl("tests/support/services", "services", "run", "--only", "kafka", "--", "sh",
                    "-c", command, (char *)NULL);
    _exit(127);
}

static void await_broker(void)
{
    int64_t deadline_ms = harness_now_ms() + START_MS;
    char ready[96];

    (void)snprintf(ready, sizeof ready, "%s/ready", folder);
    while (access(ready, R_OK) != 0) {
        if (harness_now_ms() > deadline_ms || waitpid(broker, NULL, WNOHANG) != 0)
            fail_msg("no Apache Kafka with these listeners: nothing was tested");
        harness_pause();
    }
}

/* What a shell command writes, without the newline at its end. */
static const char *shell(const char *format, const char *first, const char *second)
{
    static char output[256];
    char command[768];
    FILE *pipe;
    size_t len;

    (void)snprintf(command, sizeof command, format, first, second);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    len = fread(output, 1, sizeof output - 1, pipe);
    output[len] = '\0';
    output[strcspn(output, "\n")] = '\0';
    if (pclose(pipe) != 0)
        fail_msg("%s: %s", command, output);
    return output;
}

static const char *address_of(const char *listener)
{
    return shell("sed -n 's#^listeners=.*\\b%2$s://\\([^,]*\\).*#\\1#p' %1$s/ready", folder,
                 listener);
}

static int open_broker(void **state)
{
    char command[128];
    char address[64];

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(command, sizeof command, "tests/support/certificates %s", folder);
    assert_int_equal(system(command), 0);
    set_options();
    start_broker();
    await_broker();
    (void)snprintf(address, sizeof address, "%s", address_of("BROKER"));
    (void)shell("build/reader topics %s create %s 1 2>&1", address, TOPIC);
    return 0;
}

static int close_broker(void **state)
{
    (void)state;
    if (broker > 0) {
        (void)kill(broker, SIGTERM);
        (void)waitpid(broker, NULL, 0);
    }
    (void)shell("rm -rf %s%s", folder, "");
    return 0;
}

ONCE(open_broker, close_broker)

static void configure_way(struct fixture *fixture, const char *listener, const char *properties)
{
    char rest[1024];
    char filled[768];

    (void)snprintf(filled, sizeof filled, properties, folder);
    (void)snprintf(rest, sizeof rest,
                   "lanes = 1\n[sink.events]\ntype = \"kafka\"\nbrokers = [\"%s\"]\n"
                   "[sink.events.properties]\n%s",
                   address_of(listener), filled);
    write_config(fixture, "", rest);
}

static long count_stored(void)
{
    char address[64];

    (void)snprintf(address, sizeof address, "%s", address_of("BROKER"));
    return strtol(shell("build/reader kafka %s %s --count", address, TOPIC), NULL, 10);
}

struct right_way {
    const char *listener;
    const char *properties;
};

static const struct right_way right_ways[] = {
    {"GOOD", SSL CA},
    {"MUTUAL", SSL CA CLIENT("client")},
    {"LOGIN", SASL("PLAIN", "right") CA},
    {"LOGIN", SASL("SCRAM-SHA-256", "right") CA},
    {"LOGIN", SASL("SCRAM-SHA-512", "right") CA},
};

/* On a busy machine, reading the certificates of the system takes longer than a client may. */
static void check_until_created(struct fixture *fixture, int status)
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;
    int found;

    do
        found = run(fixture, "check", "-c", fixture->config);
    while (strstr(fixture->process.out, "creating the client takes too long") != NULL &&
           harness_now_ms() < deadline_ms);
    expect(fixture, found, status);
}

FIXTURE_TEST(each_right_way_carries_a_row)
{
    for (size_t i = 0; i < sizeof right_ways / sizeof *right_ways; i++) {
        long stored = count_stored();

        configure_way(fixture, right_ways[i].listener, right_ways[i].properties);
        check_until_created(fixture, 0);
        sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('" TOPIC "', '1')");
        expect(fixture, run_drain(fixture), 0);
        assert_int_equal(count_stored(), stored + 1);
        assert_null(strstr(fixture->process.err, "right"));
    }
}

struct wrong_way {
    const char *listener;
    const char *properties;
    const char *cause;
    const char *remedy;
};

#define SIGNED_BY "name the authority that signed it in properties.\"ssl.ca.location\""
#define SHOWN_TO_BROKER "see properties.\"ssl.certificate.location\" and \"ssl.key.location\""
#define LOGIN "see properties.\"sasl.username\" and \"sasl.password_file\""
#define NO_TLS "write another in brokers, or change properties.\"security.protocol\""

static const struct wrong_way wrong_ways[] = {
    {"GOOD", SSL, "an authority that is not trusted signed the broker's certificate", SIGNED_BY},
    {"EXPIRED", SSL CA, "the broker's certificate has expired", "renew it on the broker"},
    {"SELF", SSL CA, "the broker's certificate is self-signed and not trusted", SIGNED_BY},
    {"OTHER", SSL CA, "the broker's certificate is for another address",
     "write the host that the certificate names in brokers"},
    {"BROKER", SSL CA, "in state SSL_HANDSHAKE", NO_TLS},
    {"GOOD", "", "connecting to a SSL listener?", "properties.\"security.protocol\" = \"SSL\""},
    {"MUTUAL", SSL CA, "alert", SHOWN_TO_BROKER},
    {"MUTUAL", SSL CA CLIENT("intruder"), "alert certificate unknown", SHOWN_TO_BROKER},
    {"LOGIN", SASL("PLAIN", "wrong") CA, "Invalid username or password", LOGIN},
    {"LOGIN", SASL("SCRAM-SHA-256", "wrong") CA, "invalid credentials", LOGIN},
    {"LOGIN", SASL("SCRAM-SHA-512", "wrong") CA, "invalid credentials", LOGIN},
    {"LOGIN", SASL("PLAIN", "right"), "an authority that is not trusted", SIGNED_BY},
    {"LOGIN", SSL CA, "might require SASL authentication", "\"sasl.mechanism\""},
    {"GOOD", SASL("PLAIN", "right") CA, "mechanism handshake failed",
     "see properties.\"sasl.mechanism\" and \"security.protocol\""},
    {"BROKER", SASL("PLAIN", "right") CA, "in state SSL_HANDSHAKE", NO_TLS},
};

FIXTURE_TEST(each_wrong_way_is_refused_with_its_cause_and_the_key_to_change)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('" TOPIC "', '1')");
    for (size_t i = 0; i < sizeof wrong_ways / sizeof *wrong_ways; i++) {
        configure_way(fixture, wrong_ways[i].listener, wrong_ways[i].properties);
        check_until_created(fixture, 4);
        assert_says(fixture->process.out, "error: [sink.events] kafka at 127.0.0.1:");
        assert_says(fixture->process.out, wrong_ways[i].cause);
        assert_says(fixture->process.out, "  fix: ");
        assert_says(fixture->process.out, wrong_ways[i].remedy);
        assert_null(strstr(fixture->process.out, "\"wrong\""));
    }
    process_free(&fixture->process);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&fixture->process, NO_TLS);
    process_stop(&fixture->process, SIGTERM);
    expect(fixture, fixture->process.status, 0);
    assert_number(fixture->conn, 1, UNSENT);
}

FIXTURE_TEST(a_login_without_its_mechanism_is_refused_with_the_key)
{
    configure_way(fixture, "LOGIN",
                  "\"security.protocol\" = \"SASL_SSL\"\n\"sasl.username\" = \"relay\"\n" CA);
    expect_run(fixture, 2, "check");
    assert_says(fixture->process.out,
                "unless properties.\"sasl.mechanism\" names another mechanism");
}

FIXTURE_TEST(verification_that_is_switched_off_is_obeyed_with_a_warning)
{
    configure_way(fixture, "OTHER",
                  SSL CA "\"ssl.endpoint.identification.algorithm\" = \"none\"\n");
    expect_run(fixture, 0, "check");
    assert_says(fixture->process.err, "a certificate for any host is accepted as the broker's");
    configure_way(fixture, "SELF", SSL CA "\"enable.ssl.certificate.verification\" = false\n");
    expect_run(fixture, 0, "check");
    assert_says(fixture->process.err, "can read all messages and impersonate the broker");
    configure_way(fixture, "SELF", SSL CA "\"ssl.endpoint.identification.algorithm\" = \"none\"\n");
    expect_run(fixture, 4, "check");
    configure_way(fixture, "EXPIRED",
                  SSL CA "\"ssl.endpoint.identification.algorithm\" = \"none\"\n");
    expect_run(fixture, 4, "check");
}

static void write_password(const char *password)
{
    char path[96];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/password", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "%s\n", password);
    assert_int_equal(fclose(file), 0);
}

/* At the broker; Kafka's own tool is what an operator uses. */
static void set_password(const char *password)
{
    char jars[128];
    char address[64];
    char command[512];

    (void)snprintf(jars, sizeof jars, "%s", shell("tests/support/services jars%s%s", "", ""));
    (void)snprintf(address, sizeof address, "%s", address_of("BROKER"));
    (void)snprintf(command, sizeof command,
                   "java -XX:TieredStopAtLevel=1 -cp '%s/*' kafka.admin.ConfigCommand"
                   " --bootstrap-server %s --alter --entity-type users --entity-name rotated"
                   " --add-config 'SCRAM-SHA-256=[password=%s]' 2>&1",
                   jars, address, password);
    (void)shell("%s%s", command, "");
}

static void insert_row(struct fixture *fixture)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('" TOPIC "', '1')");
}

/* The broker changes first, so the relay is refused until the file has changed too. Nobody sends a
 * signal. */
FIXTURE_TEST(a_password_that_is_rotated_is_read_again_from_its_file)
{
    struct process *process = &fixture->process;
    long stored = count_stored();

    write_password("first");
    configure_way(fixture, "LOGIN",
                  "\"security.protocol\" = \"SASL_SSL\"\n\"sasl.mechanism\" = \"SCRAM-SHA-256\"\n"
                  "\"sasl.username\" = \"rotated\"\n"
                  "\"sasl.password_file\" = \"%1$s/password\"\n" CA);
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    insert_row(fixture);
    wait_for_number(fixture->conn, 0, UNSENT);
    set_password("second");
    insert_row(fixture); /* the broker may not have closed the idle connection yet */
    process_await_words(process, "is away: its rows wait");
    process_await_words(process, "invalid credentials");
    insert_row(fixture);
    assert_in_range(sql_number(fixture->conn, UNSENT), 1, 2);
    write_password("second");
    wait_for_number(fixture->conn, 0, UNSENT);
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    assert_int_equal(count_stored(), stored + 3);
    assert_null(strstr(process->err, "second"));
}
