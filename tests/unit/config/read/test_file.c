#include "unit/config/parsed.h"

#include "base/clock.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/relay-config-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    if (unsetenv("OUTBOX_RELAY_CONFIG") < 0 || mkdtemp(folder) == NULL)
        return -1;
    return chdir(folder);
}

static int leave_folder(void **state)
{
    (void)state;
    (void)unlink("relay.toml");
    (void)unlink("other.toml");
    return chdir("/") < 0 || rmdir(folder) < 0 ? -1 : 0;
}

ONCE(enter_folder, leave_folder)

static void write_file(const char *path, const char *text, mode_t mode)
{
    FILE *out = fopen(path, "w");

    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static struct parsed *load(const char *path)
{
    struct parsed *parsed = calloc(1, sizeof *parsed);

    assert_non_null(parsed);
    parsed->status = config_load(&parsed->config, path, &parsed->problems);
    return parsed;
}

static void assert_load_fails(const char *path, const char *line)
{
    struct parsed *parsed = load(path);

    assert_int_equal(parsed->status, -1);
    assert_int_equal(parsed->problems.count, 1);
    assert_string_equal(parsed->problems.lines[0], line);
    assert_null(parsed->config.path);
    free_parsed(parsed);
}

TEST(a_file_that_is_not_there_is_named)
{
    assert_load_fails("relay.toml", "relay.toml: cannot open: No such file or directory");
    assert_load_fails("a\tb", "a\\x09b: cannot open: No such file or directory");
    assert_load_fails("/", "/: cannot open: Is a directory");
    assert_load_fails("/dev/null", "/dev/null: cannot open: neither a file nor a pipe");
}

TEST(the_first_file_that_exists_is_read)
{
    struct parsed *parsed;

    if (access("/etc/outbox-relay/relay.toml", F_OK) < 0)
        assert_load_fails(NULL, "relay.toml: cannot open: No such file or directory, nor is there "
                                "/etc/outbox-relay/relay.toml; name a file with -c or "
                                "OUTBOX_RELAY_CONFIG");
    write_file("relay.toml", MINIMAL, 0644);
    write_file("other.toml", MINIMAL "[relay]\nlanes = 9\n", 0644);
    parsed = load(NULL);
    assert_int_equal(parsed->status, 0);
    assert_string_equal(parsed->config.path, "relay.toml");
    free_parsed(parsed);
    (void)setenv("OUTBOX_RELAY_CONFIG", "other.toml", 1);
    parsed = load(NULL);
    assert_string_equal(parsed->config.path, "other.toml");
    assert_int_equal(parsed->config.relay.lanes, 9);
    free_parsed(parsed);
    parsed = load("relay.toml");
    assert_string_equal(parsed->config.path, "relay.toml");
    free_parsed(parsed);
    (void)setenv("OUTBOX_RELAY_CONFIG", "nowhere.toml", 1);
    assert_load_fails(NULL, "nowhere.toml: cannot open: No such file or directory");
    assert_int_equal(unsetenv("OUTBOX_RELAY_CONFIG"), 0);
    assert_int_equal(unlink("relay.toml"), 0);
}

TEST(a_large_file_is_refused)
{
    struct parsed *parsed;

    write_file("relay.toml", "", 0600);
    assert_int_equal(truncate("relay.toml", 10 * 1024 * 1024), 0);
    parsed = load("relay.toml");
    assert_string_equal(parsed->problems.lines[0], "relay.toml: file larger than 1 MiB");
    free_parsed(parsed);
}

TEST(a_pipe_is_read_to_its_end)
{
    struct parsed *parsed;
    char path[64];
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], MINIMAL, strlen(MINIMAL)), (ssize_t)strlen(MINIMAL));
    assert_int_equal(close(ends[1]), 0);
    (void)snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    parsed = load(path);
    assert_int_equal(parsed->status, 0);
    free_parsed(parsed);
    assert_int_equal(close(ends[0]), 0);
}

TEST(a_pipe_that_nobody_writes_to_does_not_hang)
{
    int64_t start_ms = clock_now_ms();

    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_load_fails("pipe", "pipe: cannot read: nothing was written to this pipe");
    assert_true(clock_now_ms() - start_ms < 4000);
    assert_int_equal(unlink("pipe"), 0);
}

struct secret {
    const char *text;
    const char *line; /* NULL: fine in a file that others can read */
};

#define KAFKA                                                                                      \
    "[outbox]\norder = \"none\"\n[sink.k]\ntype = \"kafka\"\nbrokers = [\"a:9092\"]\n"             \
    "[sink.k.properties]\n"
#define NATS                                                                                       \
    "[outbox]\norder = \"none\"\n[sink.n]\ntype = \"nats\"\nservers = [\"nats://a\"]\n"            \
    "stream = \"S\"\n"
#define READABLE                                                                                   \
    " is written in a file that others can read (0644); run chmod 600 other.toml, or use "

static const struct secret secrets[] = {
    {MINIMAL "[database]\nurl = \"postgresql://u:hunter2@localhost\"\n",
     "other.toml:6:1: url: a password" READABLE "password_file or ${VAR}"},
    {MINIMAL "[database]\nurl = \"host=localhost password=hunter2\"\n",
     "other.toml:6:1: url: a password" READABLE "password_file or ${VAR}"},
    {MINIMAL "[database]\nurl = \"postgresql://u:${RELAY_X:-hunter2}@localhost\"\n",
     "other.toml:6:1: url: a password" READABLE "password_file or ${VAR}"},
    {MINIMAL "[database]\nurl = \"postgresql://u:${RELAY_PASSWORD}@localhost\"\n", NULL},
    {MINIMAL "[database]\nurl = \"${RELAY_URL}\"\n", NULL},
    {MINIMAL "[database]\nurl = \"postgresql://u@localhost\"\n", NULL},
    {MINIMAL "[database]\npassword_file = \"/x\"\n", NULL},
    {NATS "username = \"u\"\npassword = \"hunter2\"\n",
     "other.toml:8:1: password: a secret" READABLE "password_file or ${VAR}"},
    {NATS "username = \"u\"\npassword = \"${RELAY_PASSWORD}\"\n", NULL},
    {NATS "token = \"hunter2\"\n",
     "other.toml:7:1: token: a secret" READABLE "token_file or ${VAR}"},
    {NATS "token = \"x${RELAY_PASSWORD}\"\n",
     "other.toml:7:1: token: a secret" READABLE "token_file or ${VAR}"},
    {NATS "token_file = \"/x\"\n", NULL},
    {KAFKA "\"sasl.password\" = \"hunter2\"\n",
     "other.toml:7:1: sasl.password: a secret" READABLE "\"sasl.password_file\" or ${VAR}"},
    {KAFKA "\"ssl.key.pem\" = \"hunter2\"\n",
     "other.toml:7:1: ssl.key.pem: a secret" READABLE "${VAR}"},
    {KAFKA "\"sasl.oauthbearer.config\" = \"hunter2\"\n",
     "other.toml:7:1: sasl.oauthbearer.config: a secret" READABLE "${VAR}"},
    {KAFKA "\"sasl.oauthbearer.client.secret\" = \"hunter2\"\n",
     "other.toml:7:1: sasl.oauthbearer.client.secret: a secret" READABLE "${VAR}"},
    {KAFKA "\"sasl.password\" = 123456\n",
     "other.toml:7:1: sasl.password: a secret" READABLE "\"sasl.password_file\" or ${VAR}"},
    {KAFKA "\"sasl.password\" = \"${RELAY_PASSWORD}\"\n", NULL},
    {KAFKA "\"sasl.username\" = \"hunter2\"\n", NULL},
    {KAFKA "\"sasl.password_file\" = \"/x\"\n", NULL},
};

/* The client may have other complaints about the property too. */
static bool mentions(const struct parsed *parsed, const char *part)
{
    for (int i = 0; i < parsed->problems.count; i++)
        if (strstr(parsed->problems.lines[i], part) != NULL)
            return true;
    return false;
}

TEST(a_secret_in_a_file_that_others_can_read_is_refused)
{
    (void)setenv("RELAY_PASSWORD", "hunter2", 1);
    (void)setenv("RELAY_URL", "postgresql://u:hunter2@localhost", 1);
    assert_int_equal(unsetenv("RELAY_X"), 0);
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        struct parsed *parsed;

        write_file("other.toml", secrets[i].text, 0644);
        parsed = load("other.toml");
        if (secrets[i].line != NULL && !has_line(parsed, secrets[i].line))
            fail_msg("not reported: %s", secrets[i].line);
        assert_int_equal(mentions(parsed, "chmod 600"), secrets[i].line != NULL);
        assert_false(mentions(parsed, "hunter2"));
        free_parsed(parsed);
    }
}

TEST(a_secret_in_a_private_file_is_accepted)
{
    static const mode_t modes[] = {0600, 0400, 0611, 0620};

    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        struct parsed *parsed;

        write_file("other.toml", secrets[i].text, modes[i % 4]);
        parsed = load("other.toml");
        assert_false(mentions(parsed, "chmod 600"));
        free_parsed(parsed);
    }
}

TEST(one_reader_too_many_makes_a_file_unsafe)
{
    static const mode_t modes[] = {0640, 0604};

    for (size_t i = 0; i < 2; i++) {
        struct parsed *parsed;

        write_file("other.toml", secrets[0].text, modes[i]);
        parsed = load("other.toml");
        assert_true(mentions(parsed, modes[i] == 0640 ? "(0640)" : "(0604)"));
        free_parsed(parsed);
    }
}

#define CHANGEABLE                                                                                 \
    ": librdkafka runs or loads what this names, and others can change this file; make root or "   \
    "the relay's user its owner and run chmod go-w other.toml"

TEST(what_librdkafka_would_run_is_refused_in_a_file_that_others_can_change)
{
    static const char *const names[] = {"plugin.library.paths", "sasl.kerberos.kinit.cmd",
                                        "sasl.kerberos.keytab", "sasl.kerberos.principal",
                                        "ssl.engine.location",  "ssl.providers"};
    static const mode_t modes[] = {0620, 0602, 0666};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[256];
        char line[256];
        struct parsed *parsed;

        (void)snprintf(text, sizeof text, KAFKA "\"%s\" = \"/nowhere\"\n", names[i]);
        (void)snprintf(line, sizeof line, "other.toml:7:1: %s" CHANGEABLE, names[i]);
        write_file("other.toml", text, modes[i % 3]);
        parsed = load("other.toml");
        assert_int_equal(parsed->status, -1);
        assert_int_equal(parsed->problems.count, 1);
        assert_string_equal(parsed->problems.lines[0], line);
        free_parsed(parsed);
    }
}

TEST(what_librdkafka_would_run_is_accepted_from_the_operator)
{
    struct parsed *parsed;

    write_file("other.toml", KAFKA "\"sasl.kerberos.kinit.cmd\" = \"true\"\n", 0644);
    parsed = load("other.toml");
    assert_int_equal(parsed->status, 0);
    free_parsed(parsed);
    if (geteuid() != 0) /* only root can give a file away */
        return;
    assert_int_equal(chown("other.toml", 65534, (gid_t)-1), 0);
    parsed = load("other.toml");
    assert_int_equal(parsed->status, -1);
    assert_string_equal(parsed->problems.lines[0],
                        "other.toml:7:1: sasl.kerberos.kinit.cmd" CHANGEABLE);
    free_parsed(parsed);
}
