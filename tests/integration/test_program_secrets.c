/* However a secret is configured, and whatever the program is asked to do, no output holds it. */
#include "integration/program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

FIXTURE(set_up, fixture_close)

/* Part of every secret in all of its spellings. */
#define CANARY "anary7f3a"

/* "run" is not here: it does not end by itself. The first four are asked for each spelling, and the
 * others, which read the configuration and connect as they do, for one spelling of each kind. */
static const char *const commands[][5] = {
    {"emit", "a", "k", "{}"},
    {"check"},
    {"check", "--json"},
    {"config"},
    {"init"},
    {"init", "--print"},
    {"status"},
    {"status", "--json"},
    {"dead", "list"},
    {"dead", "list", "--json"},
    {"dead", "show", "1"},
    {"dead", "retry", "--all"},
    {"dead", "drop", "--all", "--dry-run"},
    {"purge", "--dry-run"},
    {"purge"},
    {"version"},
};
#define FOR_EACH 4

struct spelling {
    const char *database; /* printf format: the server's address and the database's name */
    const char *sink;
    const char *run_says; /* `run` is stopped then; NULL: it ends by itself, with status 2 */
    bool by_every_command;
};

#define NATS "[sink.out]\ntype = \"nats\"\nservers = [\"nats://127.0.0.1:1\"]\nstream = \"S\"\n"
#define KAFKA "[sink.out]\ntype = \"kafka\"\nbrokers = [\"127.0.0.1:1\"]\n[sink.out.properties]\n"
#define SASL                                                                                       \
    "\"security.protocol\" = \"SASL_SSL\"\n\"sasl.mechanism\" = \"PLAIN\"\n"                       \
    "\"sasl.username\" = \"u\"\n"
#define PLAIN "url = \"postgresql://" HARNESS_RELAY "@%s/%s\""
#define PRINTED "\"topic\":\"a\""

static const struct spelling spellings[] = {
    /* Whether the server accepts the login, or has no such role. */
    {"url = \"postgresql://" HARNESS_RELAY ":canary7f3a@%s/%s\"", STDOUT_SINK, PRINTED, true},
    {"url = \"postgresql://nobody:canary7f3a@%s/%s\"", STDOUT_SINK, "role \"nobody\"", true},
    {"url = \"postgresql://" HARNESS_RELAY ":%%63anary7f3a%%2F%%40@%s/%s\"", STDOUT_SINK, PRINTED,
     false},
    {"url = \"postgresql://nobody:%%63anary7f3a%%2F%%40@%s/%s\"", STDOUT_SINK, "role \"nobody\"",
     false},
    {"url = \"postgresql://%s/%s?user=nobody&p%%61ssword=canary7f3a\"", STDOUT_SINK,
     "role \"nobody\"", false},
    {"url = \"user=" HARNESS_RELAY " password='canary7f3a x' hostaddr=%s dbname=%s\"", STDOUT_SINK,
     PRINTED, false},
    {"url = \"user=nobody password=canary7f3a hostaddr=%s dbname=%s\"", STDOUT_SINK,
     "role \"nobody\"", true},
    {"url = \"postgresql://" HARNESS_RELAY ":${DATABASE_SECRET}@%s/%s\"", STDOUT_SINK, PRINTED,
     false},
    {"url = \"postgresql://nobody:${DATABASE_SECRET}@%s/%s\"", STDOUT_SINK, "role \"nobody\"",
     false},
    {PLAIN "\npassword_file = \"${SECRET_FILE}\"", STDOUT_SINK, PRINTED, false},
    {"url = \"postgresql://nobody@%s/%s\"\npassword_file = \"${SECRET_FILE}\"", STDOUT_SINK,
     "role \"nobody\"", false},

    /* Refused, because nobody could tell where the password ends. */
    {"url = \"postgresql://u:c/anary7f3a@%s/%s?sslmode=disable\"", STDOUT_SINK, NULL, true},
    {"url = \"postgresql://u:c@anary7f3a@%s/%s\"", STDOUT_SINK, NULL, false},
    {"url = \"postgresql://u:x${SECRET_WITH_SLASH}@%s/%s\"", STDOUT_SINK, NULL, false},
    {"url = \"user=" HARNESS_RELAY " pasword=canary7f3a hostaddr=%s dbname=%s\"", STDOUT_SINK, NULL,
     false},
    {"url = \"postgresql://%s/%s?pasword=canary7f3a\"", STDOUT_SINK, NULL, false},
    {"url = \"canary7f3a %s %s\"", STDOUT_SINK, NULL, false},

    {PLAIN, NATS "username = \"u\"\npassword = \"canary7f3a\"", "level=error", true},
    {PLAIN, NATS "username = \"u\"\npassword = \"${SINK_SECRET}\"", "level=error", false},
    {PLAIN, NATS "username = \"u\"\npassword_file = \"${SECRET_FILE}\"", "level=error", false},
    {PLAIN, NATS "token = \"canary7f3a\"", "level=error", false},
    {PLAIN, NATS "token_file = \"${SECRET_FILE}\"", "level=error", false},
    {PLAIN, NATS "token = [\"canary7f3a\"]", NULL, false},
    {PLAIN,
     "[sink.out]\ntype = \"nats\"\nservers = [\"nats://u:canary7f3a@127.0.0.1:1\"]\n"
     "stream = \"S\"",
     NULL, false},

    {PLAIN, KAFKA SASL "\"sasl.password\" = \"canary7f3a\"", "level=error", true},
    {PLAIN, KAFKA SASL "\"sasl.password\" = \"${SINK_SECRET}\"", "level=error", false},
    {PLAIN, KAFKA SASL "\"sasl.password_file\" = \"${SECRET_FILE}\"", "level=error", false},
    {PLAIN, KAFKA "\"ssl.key.password\" = \"canary7f3a\"", "level=error", false},
    {PLAIN, KAFKA SASL "\"sasl.pasword\" = \"canary7f3a\"", NULL, false},
};

static void set_variables(void)
{
    assert_int_equal(setenv("DATABASE_SECRET", "canary7f3a%2F", 1), 0);
    assert_int_equal(setenv("SECRET_WITH_SLASH", "c/anary7f3a", 1), 0);
    assert_int_equal(setenv("SINK_SECRET", "canary7f3a", 1), 0);
    assert_int_equal(setenv("SECRET_FILE", harness_file("secret", "canary7f3a\n"), 1), 0);
}

static void write_spelling(struct fixture *fixture, const struct spelling *spelling)
{
    bool words = strstr(spelling->database, "hostaddr") != NULL;
    char server[64];
    char database[512];

    (void)snprintf(server, sizeof server, words ? "127.0.0.1 port=%s" : "127.0.0.1:%s",
                   PQport(fixture->conn));
    (void)snprintf(database, sizeof database, spelling->database, server, PQdb(fixture->conn));
    (void)snprintf(fixture->config, sizeof fixture->config, "%s",
                   harness_file("relay.toml",
                                "[database]\n%s\n[outbox]\norder = \"none\"\n"
                                "[relay]\npoll_interval = \"50ms\"\npublish_timeout = \"500ms\"\n"
                                "shutdown_timeout = \"500ms\"\nlanes = 1\n"
                                "[log]\nlevel = \"debug\"\n%s\n",
                                database, spelling->sink));
}

static void assert_silent(const struct fixture *fixture, const struct spelling *spelling,
                          const char *command)
{
    const struct process *process = &fixture->process;

    if (strstr(process->out, CANARY) != NULL || strstr(process->err, CANARY) != NULL)
        fail_msg("%s shows the secret of: %s %s\n%s%s", command, spelling->database, spelling->sink,
                 process->out, process->err);
}

static void run_spelled(struct fixture *fixture, const struct spelling *spelling,
                        const char *const command[5])
{
    const char *words[8];
    int count = 0;
    bool takes_config = strcmp(command[0], "version") != 0;

    for (; command[count] != NULL; count++)
        words[count] = command[count];
    words[count] = takes_config ? "-c" : NULL;
    words[count + 1] = fixture->config;
    words[count + 2] = NULL;
    for (int i = count + 3; i < 8; i++)
        words[i] = NULL;
    (void)run(fixture, words[0], words[1], words[2], words[3], words[4], words[5], words[6]);
    assert_silent(fixture, spelling, command[0]);
    if (takes_config && spelling->run_says == NULL)
        expect(fixture, fixture->process.status, 2);
}

static void run_relay(struct fixture *fixture, const struct spelling *spelling)
{
    struct process *process = &fixture->process;

    if (spelling->run_says == NULL) {
        expect_run(fixture, 2, "run");
    } else {
        process_free(process);
        process_start(process, NULL, "run", "-c", fixture->config, NULL);
        process_await_words(process, spelling->run_says);
        process_stop(process, SIGTERM);
    }
    assert_silent(fixture, spelling, "run");
}

FIXTURE_TEST(no_output_ever_holds_a_password)
{
    set_variables();
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        size_t count =
            spellings[i].by_every_command ? sizeof commands / sizeof *commands : FOR_EACH;

        write_spelling(fixture, &spellings[i]);
        for (size_t j = 0; j < count; j++)
            run_spelled(fixture, &spellings[i], commands[j]);
        run_relay(fixture, &spellings[i]);
        sql(fixture->conn, "TRUNCATE outbox, outbox_parked");
    }
}

/* A program that is killed by SIGABRT leaves a core where its limits and the kernel allow it. */
static bool leaves_core(struct fixture *fixture)
{
    const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    char *program = realpath(harness_env("RELAY"), NULL);
    struct rlimit found;
    int status = 0;
    int out[2];
    char byte;
    pid_t pid;

    assert_non_null(program);
    assert_int_equal(pipe(out), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)setrlimit(RLIMIT_CORE, &unlimited);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)close(out[0]);
        if (chdir(harness_folder()) == 0)
            (void)execl(program, "outbox-relay", "run", "-c", fixture->config, NULL);
        _exit(127);
    }
    (void)close(out[1]);
    free(program);
    assert_int_equal(read(out[0], &byte, 1), 1); /* the event: it runs */
    assert_int_equal(prlimit(pid, RLIMIT_CORE, NULL, &found), 0);
    assert_int_equal(found.rlim_cur, 0);
    assert_int_equal(found.rlim_max, 0);
    (void)prlimit(pid, RLIMIT_CORE, &unlimited, NULL); /* root could; the kernel still refuses */
    assert_int_equal(kill(pid, SIGABRT), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)close(out[0]);
    assert_true(WIFSIGNALED(status));
    return WCOREDUMP(status);
}

FIXTURE_TEST(no_core_ever_holds_a_password)
{
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('a')");
    assert_false(leaves_core(fixture));
}
