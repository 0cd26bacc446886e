#ifndef TESTS_INTEGRATION_MYSQL_RELAY_PROCESS_H
#define TESTS_INTEGRATION_MYSQL_RELAY_PROCESS_H

/* A relay as a process, whose sink is a file, and what it has published: event n of a key has the
 * payload n. */

#include "integration/mysql/lane_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define RELAY_KEYS 10
#define RELAY_EVENTS_MAX 20000 /* of a key */
#define RELAY_LANES 2
#define RELAY_BATCH 100

struct relay {
    char config[192];
    char out[192];
    char log[192];
    pid_t pid; /* 0: none runs */
};

struct published {
    bool has[RELAY_KEYS][RELAY_EVENTS_MAX];
    long long last[RELAY_KEYS]; /* 0: none */
    int events;
    int repeated;
    int out_of_order; /* that were published for the first time behind a later one */
};

static inline const char *relay_program(void)
{
    const char *path = getenv("RELAY_MYSQL");

    return path != NULL ? path : "build/outbox-relay-mysql";
}

static inline void relay_configure(struct relay *relay, const char *name, const char *url,
                                   const char *outbox)
{
    const char *folder = getenv("TEST_DIR");
    FILE *file;

    assert_non_null(folder);
    *relay = (struct relay){.pid = 0};
    (void)snprintf(relay->config, sizeof relay->config, "%s/%s.toml", folder, name);
    (void)snprintf(relay->out, sizeof relay->out, "%s/%s.out", folder, name);
    (void)snprintf(relay->log, sizeof relay->log, "%s/%s.log", folder, name);
    (void)unlink(relay->out);
    (void)unlink(relay->log);
    file = fopen(relay->config, "w");
    assert_non_null(file);
    (void)fprintf(file,
                  "[database]\nurl = \"%s\"\n[outbox]\n%s\n[http]\nlisten = \"\"\n[relay]\n"
                  "lanes = %d\nbatch = %d\n[sink.out]\ntype = \"stdout\"\n",
                  url, outbox, RELAY_LANES, RELAY_BATCH);
    assert_int_equal(fclose(file), 0);
}

/* Its exit status. Both outputs are added to the log, but to the sink's file where it runs. */
static inline int relay_command(const struct relay *relay, const char *command)
{
    char text[900];

    (void)snprintf(text, sizeof text, "%s %s -c %s >>%s 2>>%s", relay_program(), command,
                   relay->config, strncmp(command, "run", 3) == 0 ? relay->out : relay->log,
                   relay->log);
    return WEXITSTATUS(system(text));
}

static inline void relay_start(struct relay *relay)
{
    relay->pid = fork();
    assert_true(relay->pid >= 0);
    if (relay->pid > 0)
        return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(open(relay->out, O_WRONLY | O_CREAT | O_APPEND, 0600), STDOUT_FILENO);
    (void)dup2(open(relay->log, O_WRONLY | O_CREAT | O_APPEND, 0600), STDERR_FILENO);
    (void)execl(relay_program(), "outbox-relay-mysql", "run", "-c", relay->config, NULL);
    _exit(127);
}

static inline void relay_assert_runs(struct relay *relay)
{
    int status;

    if (waitpid(relay->pid, &status, WNOHANG) != 0) {
        relay->pid = 0;
        fail_msg("the relay has ended: %d, see %s", status, relay->log);
    }
}

static inline void relay_stop(struct relay *relay)
{
    int status;

    assert_int_equal(kill(relay->pid, SIGTERM), 0);
    assert_int_equal(waitpid(relay->pid, &status, 0), relay->pid);
    relay->pid = 0;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static inline void relay_kill(struct relay *relay)
{
    if (relay->pid == 0)
        return;
    (void)kill(relay->pid, SIGKILL);
    (void)waitpid(relay->pid, NULL, 0);
    relay->pid = 0;
}

static inline bool relay_has_said(const struct relay *relay, const char *words)
{
    FILE *file = fopen(relay->log, "r");
    char line[4096];
    bool has = false;

    while (file != NULL && !has && fgets(line, sizeof line, file) != NULL)
        has = strstr(line, words) != NULL;
    if (file != NULL)
        (void)fclose(file);
    return has;
}

static inline void relay_await_said(struct relay *relay, const char *words)
{
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

    while (!relay_has_said(relay, words)) {
        relay_assert_runs(relay);
        if (clock_left_ms(deadline_ms) == 0)
            fail_msg("\"%s\" is not in %s", words, relay->log);
        (void)usleep(20000);
    }
}

static inline void relay_read(const struct relay *relay, struct published *published)
{
    FILE *file = fopen(relay->out, "r");
    char line[4096];

    *published = (struct published){.events = 0};
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *key = strstr(line, "\"key\":\"");
        const char *payload = strstr(line, "\"payload\":\"");
        long long k, n;

        if (key == NULL || payload == NULL || strchr(line, '\n') == NULL)
            continue;
        k = strtoll(key + strlen("\"key\":\""), NULL, 10);
        n = strtoll(payload + strlen("\"payload\":\""), NULL, 10);
        assert_true(k >= 0 && k < RELAY_KEYS && n > 0 && n < RELAY_EVENTS_MAX);
        published->events++;
        published->repeated += published->has[k][n];
        published->out_of_order += !published->has[k][n] && n < published->last[k];
        published->has[k][n] = true;
        if (n > published->last[k])
            published->last[k] = n;
    }
    if (file != NULL)
        (void)fclose(file);
}

static inline int published_distinct(const struct published *published)
{
    return published->events - published->repeated;
}

#endif
