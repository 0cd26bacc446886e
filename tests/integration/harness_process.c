/* The built program as a child process. */
#include "integration/harness.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_MAX 32
#define RUNNING_MAX 64

static pid_t running[RUNNING_MAX]; /* 0: nobody */

static void note_running(pid_t before, pid_t after)
{
    for (int i = 0; i < RUNNING_MAX; i++)
        if (running[i] == before) {
            running[i] = after;
            return;
        }
    fail_msg("more than %d programs, or one that was not started here", RUNNING_MAX);
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

/* The relay dies with the test program, also when that is killed. The parent may have ended before
 * the request. */
static void die_with(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(127);
}

static void start(struct process *process, const char *in, char **argv)
{
    static int number;
    int stdin_pipe[2];
    pid_t test = getpid();

    *process = (struct process){.status = -1};
    number++;
    (void)snprintf(process->out_path, sizeof process->out_path, "%s/%d.out", harness_folder(),
                   number);
    (void)snprintf(process->err_path, sizeof process->err_path, "%s/%d.err", harness_folder(),
                   number);
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
        die_with(test);
        (void)execv(argv[0], argv);
        _exit(127);
    }
    note_running(0, process->pid);
    (void)close(stdin_pipe[0]);
    feed(stdin_pipe[1], in != NULL ? in : "");
}

void process_start(struct process *process, const char *in, ...)
{
    char *argv[ARGUMENTS_MAX];
    va_list args;
    int count = 0;

    argv[count++] = (char *)harness_env("RELAY");
    va_start(args, in);
    while (count < ARGUMENTS_MAX && (argv[count] = va_arg(args, char *)) != NULL)
        count++;
    va_end(args);
    assert_true(count < ARGUMENTS_MAX);
    start(process, in, argv);
}

void process_start_server(struct process *process, ...)
{
    static const char *const as_postgres[] = {"/usr/bin/setpriv", "--reuid=postgres",
                                              "--regid=postgres", "--init-groups",
                                              "--pdeathsig=KILL", NULL};
    char *argv[ARGUMENTS_MAX];
    va_list args;
    int count = 0;

    if (geteuid() == 0)
        for (; as_postgres[count] != NULL; count++)
            argv[count] = (char *)as_postgres[count];
    va_start(args, process);
    while (count < ARGUMENTS_MAX && (argv[count] = va_arg(args, char *)) != NULL)
        count++;
    va_end(args);
    assert_true(count < ARGUMENTS_MAX);
    start(process, NULL, argv);
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

/* Within a value a line of the log escapes quotes; tests read them as they were. */
static char *slurp_err(const char *path)
{
    char *text = slurp(path);
    char *to = text;

    for (const char *from = text; *from != '\0'; from++)
        if (from[0] != '\\' || from[1] != '"')
            *to++ = *from;
    *to = '\0';
    return text;
}

static bool has_ended(void *closure)
{
    struct process *process = closure;
    int status;

    if (waitpid(process->pid, &status, WNOHANG) != process->pid)
        return false;
    note_running(process->pid, 0);
    process->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}

void process_wait(struct process *process)
{
    int64_t began_ms = harness_now_ms();

    while (!has_ended(process)) {
        if (harness_now_ms() > began_ms + 3LL * HARNESS_WAIT_MS) {
            process_end_all();
            process->err = slurp_err(process->err_path);
            fail_msg("the program did not end; it said: %s", process->err);
        }
        harness_pause_since(began_ms);
    }
    process->out = slurp(process->out_path);
    process->err = slurp_err(process->err_path);
}

void process_end_all(void)
{
    for (int i = 0; i < RUNNING_MAX; i++)
        if (running[i] != 0) {
            (void)kill(running[i], SIGKILL);
            (void)waitpid(running[i], NULL, 0);
            running[i] = 0;
        }
}

void process_free(struct process *process)
{
    free(process->out);
    free(process->err);
    process->out = NULL;
    process->err = NULL;
}

/* Frees the text. */
static int count_words(char *text, const char *words)
{
    int count = 0;

    for (const char *at = text; (at = strstr(at, words)) != NULL; at += strlen(words))
        count++;
    free(text);
    return count;
}

int process_count_words(const struct process *process, const char *words)
{
    return count_words(slurp(process->out_path), words) +
           count_words(slurp_err(process->err_path), words);
}

void process_await_times(const struct process *process, const char *words, int times)
{
    int64_t began_ms = harness_now_ms();

    while (process_count_words(process, words) < times) {
        if (harness_now_ms() > began_ms + HARNESS_WAIT_MS)
            fail_msg("waited %d ms for the program to say %d times: %s; it said: %s",
                     HARNESS_WAIT_MS, times, words, slurp_err(process->err_path));
        harness_pause_since(began_ms);
    }
}

void process_await_words(const struct process *process, const char *words)
{
    process_await_times(process, words, 1);
}

void process_stop(struct process *process, int signal)
{
    assert_int_equal(kill(process->pid, signal), 0);
    process_wait(process);
}

int harness_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    (void)close(fd);
    return ntohs(address.sin_port);
}
