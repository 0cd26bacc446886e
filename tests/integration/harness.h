#ifndef INTEGRATION_HARNESS_H
#define INTEGRATION_HARNESS_H

#include "test.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * What integration tests share: a database of their own, SQL in one line, the built program as a
 * child process, and waiting for a condition with a deadline. Every function fails the test when it
 * cannot do its job.
 */

#define HARNESS_WAIT_MS 40000
#define HARNESS_RELAY "test_relay" /* the role of the relays */

/* The variable's value. The test fails when it is not set, since a missing server must not count as
 * a pass. */
const char *harness_env(const char *name);

/* Connects to this process's database on the test server as a superuser; the connection is the
 * caller's. The URL is for HARNESS_RELAY, which owns the database and is no superuser. Each call
 * ends all sessions of the database and empties it: dropping and creating one would take longer
 * than most tests. */
PGconn *harness_database(char url[256]);
/* One more connection to the same database, as a superuser too. */
PGconn *harness_connect(const char *url);

/* How many rows of the outbox are unsent. */
#define UNSENT "SELECT count(*) FROM outbox WHERE sent_at IS NULL"

void sql(PGconn *conn, const char *format, ...) __attribute__((format(printf, 2, 3)));
long long sql_number(PGconn *conn, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The first value; "" for NULL. Valid until the next call. */
const char *sql_text(PGconn *conn, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fails the test, showing query and number, unless the query's number is this one. */
void assert_number(PGconn *conn, long long number, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* COPY ... FROM STDIN of these lines. */
void sql_copy(PGconn *conn, const char *copy, const char *lines);

/* Polls until the query's number equals this. */
void wait_for_number(PGconn *conn, long long number, const char *query);

/* A file in a folder of the test's own, with this text. The path is valid until the test ends. */
const char *harness_file(const char *name, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *harness_folder(void);

int64_t harness_now_ms(void);
/* Sleeps a few milliseconds, between two checks of a condition that is waited for. */
void harness_pause(void);
/* The same, and longer the longer the test has waited: each check costs the machine time that
 * other tests need. */
void harness_pause_since(int64_t began_ms);

struct process {
    pid_t pid;
    char *out; /* what it wrote to stdout, once process_wait has returned */
    char *err;
    int status; /* exit status; 128 + signal */
    char out_path[256];
    char err_path[256];
};

/* Starts build/outbox-relay ($RELAY) with these arguments, ended by NULL; it dies with the test.
 * `in`: its stdin, or NULL. */
void process_start(struct process *process, const char *in, ...);
/* Starts a program by its path, with its arguments, ended by NULL; as the user postgres when the
 * test runs as root, which such a server refuses. */
void process_start_server(struct process *process, ...);
void process_wait(struct process *process);
void process_free(struct process *process);
/* Kills the programs that a failed test has left running. */
void process_end_all(void);
/* Start and wait in one: the exit status. Fails the test on a deadline. */
#define process_run(process, in, ...)                                                              \
    (process_start(process, in, __VA_ARGS__), process_wait(process), (process)->status)
/* How often the words occur in its stdout and stderr; and waiting until they occur so often, or
 * once. */
int process_count_words(const struct process *process, const char *words);
void process_await_times(const struct process *process, const char *words, int times);
void process_await_words(const struct process *process, const char *words);
/* Sends the signal and waits for the end. */
void process_stop(struct process *process, int signal);
/* A port of 127.0.0.1 on which nobody listens. */
int harness_free_port(void);

/* An empty database and the program with a configuration for it: cmocka's fixture. */
struct fixture {
    char url[256];
    PGconn *conn;
    char config[256]; /* path */
    char name[64];    /* unlike any other test's; fit for a stream or the start of a topic */
    struct process process;
};

/* A test that has it as `fixture`. */
#define FIXTURE_TEST(name) TEST_GIVEN(struct fixture *fixture, name)
#define FIXTURE_TEST_WITH(name, before, after)                                                     \
    TEST_GIVEN_WITH(struct fixture *fixture, name, before, after)

/* Empties the database, and writes no configuration. */
int fixture_open_empty(void **state);
/* The same; `configure` writes fixture->config; then `init` must succeed. */
int fixture_open(void **state, void (*configure)(struct fixture *));
int fixture_close(void **state);
/* fixture->config: the database, and the rest as it is given here. */
void write_relay_toml(struct fixture *fixture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Runs the program; its status. The output of the run before is freed. */
#define run(fixture, ...)                                                                          \
    (process_free(&(fixture)->process), process_run(&(fixture)->process, NULL, __VA_ARGS__, NULL))

/* Fails the test, showing what the program said, unless its status is this one. */
void expect(struct fixture *fixture, int status, int expected);
/* Runs the program with this configuration, and expects this status. */
#define expect_run(fixture, status, ...)                                                           \
    expect(fixture, run(fixture, __VA_ARGS__, "-c", (fixture)->config), status)
void assert_says(const char *text, const char *expected);

#endif
