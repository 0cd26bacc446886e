#include "integration/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGUMENTS_MAX 32

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

const char *harness_env(const char *name)
{
    const char *value = getenv(name);

    if (value == NULL || value[0] == '\0')
        fail_msg("%s is not set: run this through tests/support/services", name);
    return value;
}

PGconn *harness_connect(const char *url)
{
    PGconn *conn = PQconnectdb(url);

    if (PQstatus(conn) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(conn));
    return conn;
}

PGconn *harness_database(char url[256])
{
    static int number;
    const char *server = harness_env("TEST_PG_URL");
    PGconn *admin = harness_connect(server);
    const char *slash = strrchr(server, '/');
    char name[64];

    (void)snprintf(name, sizeof name, "test_%d_%d", (int)getpid(), ++number);
    sql(admin, "CREATE DATABASE %s", name);
    PQfinish(admin);
    (void)snprintf(url, 256, "%.*s/%s", (int)(slash - server), server, name);
    return harness_connect(url);
}

void harness_drop(PGconn *conn)
{
    char name[128];
    PGconn *admin;

    (void)snprintf(name, sizeof name, "%s", PQdb(conn));
    PQfinish(conn);
    admin = harness_connect(harness_env("TEST_PG_URL"));
    sql(admin, "DROP DATABASE %s WITH (FORCE)", name);
    PQfinish(admin);
}

static PGresult *query(PGconn *conn, const char *text)
{
    PGresult *result = PQexec(conn, text);
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail_msg("%s: %s", text, PQerrorMessage(conn));
    return result;
}

static void format_query(char *text, size_t size, const char *format, va_list args)
{
    int len = vsnprintf(text, size, format, args);

    assert_true(len > 0 && (size_t)len < size);
}

void sql(PGconn *conn, const char *format, ...)
{
    char text[8192];
    va_list args;

    va_start(args, format);
    format_query(text, sizeof text, format, args);
    va_end(args);
    PQclear(query(conn, text));
}

static const char *first_value(PGconn *conn, const char *text)
{
    static char value[65536];
    PGresult *result = query(conn, text);

    (void)snprintf(value, sizeof value, "%s",
                   PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return value;
}

long long sql_number(PGconn *conn, const char *format, ...)
{
    char text[8192];
    va_list args;

    va_start(args, format);
    format_query(text, sizeof text, format, args);
    va_end(args);
    return strtoll(first_value(conn, text), NULL, 10);
}

const char *sql_text(PGconn *conn, const char *format, ...)
{
    char text[8192];
    va_list args;

    va_start(args, format);
    format_query(text, sizeof text, format, args);
    va_end(args);
    return first_value(conn, text);
}

static void pause_briefly(void)
{
    (void)poll(NULL, 0, 5);
}

void wait_for_number(PGconn *conn, long long number, const char *text)
{
    int64_t deadline_ms = now_ms() + HARNESS_WAIT_MS;

    while (sql_number(conn, "%s", text) != number) {
        if (now_ms() > deadline_ms)
            fail_msg("waited %d ms for %lld, found %lld: %s", HARNESS_WAIT_MS, number,
                     sql_number(conn, "%s", text), text);
        pause_briefly();
    }
}

static const char *folder(void)
{
    static char path[128];

    if (path[0] != '\0')
        return path;
    (void)snprintf(path, sizeof path, "%s/test_%d", harness_env("TEST_DIR"), (int)getpid());
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        fail_msg("mkdir %s: %s", path, strerror(errno));
    return path;
}

const char *harness_file(const char *name, const char *format, ...)
{
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8];
    va_list args;
    FILE *file;

    (void)snprintf(path, sizeof paths[0], "%s/%s", folder(), name);
    file = fopen(path, "w");
    assert_non_null(file);
    va_start(args, format);
    assert_true(vfprintf(file, format, args) >= 0);
    va_end(args);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0600), 0);
    return path;
}

static void redirect(int fd, const char *path, int flags)
{
    int opened = open(path, flags, 0600);

    if (opened < 0 || dup2(opened, fd) < 0)
        _exit(127);
    (void)close(opened);
}

static void feed(int fd, const char *text)
{
    size_t len = strlen(text);

    (void)signal(SIGPIPE, SIG_IGN);
    while (len > 0) {
        ssize_t written = write(fd, text, len);

        if (written <= 0)
            break;
        text += written;
        len -= (size_t)written;
    }
    (void)close(fd);
}

static void start(struct process *process, const char *in, char **argv)
{
    static int number;
    int stdin_pipe[2];

    *process = (struct process){.status = -1};
    number++;
    (void)snprintf(process->out_path, sizeof process->out_path, "%s/%d.out", folder(), number);
    (void)snprintf(process->err_path, sizeof process->err_path, "%s/%d.err", folder(), number);
    assert_int_equal(pipe(stdin_pipe), 0);
    (void)close(creat(process->out_path, 0600)); /* so that it can be read at once */
    (void)close(creat(process->err_path, 0600));
    process->pid = fork();
    assert_true(process->pid >= 0);
    if (process->pid == 0) {
        (void)dup2(stdin_pipe[0], STDIN_FILENO);
        (void)close(stdin_pipe[0]);
        (void)close(stdin_pipe[1]);
        redirect(STDOUT_FILENO, process->out_path, O_WRONLY | O_CREAT | O_TRUNC);
        redirect(STDERR_FILENO, process->err_path, O_WRONLY | O_CREAT | O_TRUNC);
        (void)execv(argv[0], argv);
        _exit(127);
    }
    (void)close(stdin_pipe[0]);
    feed(stdin_pipe[1], in != NULL ? in : "");
}

static void collect_arguments(char **argv, va_list args)
{
    int count = 0;

    argv[count++] = (char *)harness_env("RELAY");
    while (count < ARGUMENTS_MAX && (argv[count] = va_arg(args, char *)) != NULL)
        count++;
    assert_true(count < ARGUMENTS_MAX);
}

void process_start(struct process *process, const char *in, ...)
{
    char *argv[ARGUMENTS_MAX];
    va_list args;

    va_start(args, in);
    collect_arguments(argv, args);
    va_end(args);
    start(process, in, argv);
}

static char *slurp(const char *path)
{
    struct stat status;
    char *text;
    FILE *file = fopen(path, "r");
    size_t len;

    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &status), 0);
    text = malloc((size_t)status.st_size + 1);
    assert_non_null(text);
    len = fread(text, 1, (size_t)status.st_size, file);
    text[len] = '\0';
    (void)fclose(file);
    return text;
}

static bool has_ended(void *closure)
{
    struct process *process = closure;
    int status;

    if (waitpid(process->pid, &status, WNOHANG) != process->pid)
        return false;
    process->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}

void process_wait(struct process *process)
{
    int64_t deadline_ms = now_ms() + 3LL * HARNESS_WAIT_MS;

    while (!has_ended(process)) {
        if (now_ms() > deadline_ms) {
            (void)kill(process->pid, SIGKILL);
            (void)waitpid(process->pid, NULL, 0);
            process->err = slurp(process->err_path);
            fail_msg("the program did not end; it said: %s", process->err);
        }
        pause_briefly();
    }
    process->out = slurp(process->out_path);
    process->err = slurp(process->err_path);
}

void process_free(struct process *process)
{
    free(process->out);
    free(process->err);
    process->out = NULL;
    process->err = NULL;
}

int process_run(struct process *process, const char *in, ...)
{
    char *argv[ARGUMENTS_MAX];
    va_list args;

    va_start(args, in);
    collect_arguments(argv, args);
    va_end(args);
    start(process, in, argv);
    process_wait(process);
    return process->status;
}

static bool has_said(const struct process *process, const char *text)
{
    char *out = slurp(process->out_path);
    char *err = slurp(process->err_path);
    bool said = strstr(out, text) != NULL || strstr(err, text) != NULL;

    free(out);
    free(err);
    return said;
}

void process_await_words(const struct process *process, const char *text)
{
    int64_t deadline_ms = now_ms() + HARNESS_WAIT_MS;

    while (!has_said(process, text)) {
        if (now_ms() > deadline_ms)
            fail_msg("waited %d ms for the program to say: %s", HARNESS_WAIT_MS, text);
        pause_briefly();
    }
}

void process_stop(struct process *process, int signal)
{
    assert_int_equal(kill(process->pid, signal), 0);
    process_wait(process);
}

int fixture_open(void **state, void (*configure)(struct fixture *))
{
    static int number;
    struct fixture *fixture = calloc(1, sizeof *fixture);

    assert_non_null(fixture);
    *state = fixture;
    (void)snprintf(fixture->name, sizeof fixture->name, "t%d_%d", (int)getpid(), ++number);
    fixture->conn = harness_database(fixture->url);
    configure(fixture);
    expect(fixture, run(fixture, "init", "-c", fixture->config), 0);
    return 0;
}

int fixture_close(void **state)
{
    struct fixture *fixture = *state;

    process_free(&fixture->process);
    harness_drop(fixture->conn);
    free(fixture);
    return 0;
}

void expect(struct fixture *fixture, int status, int expected)
{
    if (status != expected)
        fail_msg("exit status %d instead of %d; it said: %s%s", status, expected,
                 fixture->process.out, fixture->process.err);
}

void assert_says(const char *text, const char *expected)
{
    if (strstr(text, expected) == NULL)
        fail_msg("expected \"%s\" in: %s", expected, text);
}
