#ifndef INTEGRATION_NATS_SERVER_H
#define INTEGRATION_NATS_SERVER_H

#include "base/clock.h"
#include "test.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A nats-server of the test's own, with a configuration of the test's own. */

#define OWN_CONFIG_BYTES 8192
#define OWN_WAIT_MS 20000

static pid_t own_server;
static const char *own_program = "nats-server";
static char own_folder[64];
static char own_url[64];
static char own_ports[512]; /* the addresses where it listens, as it says */

static inline void write_own_file(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", own_folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static inline void write_own_config(const char *config)
{
    char text[OWN_CONFIG_BYTES + 32];

    (void)snprintf(text, sizeof text, "listen: 127.0.0.1:-1\n%s", config);
    write_own_file("conf", text);
}

/* The port that the server announced for this scheme. */
static inline int own_port(const char *scheme)
{
    const char *found = strstr(own_ports, scheme);
    const char *colon = found != NULL ? strchr(found + strlen(scheme), ':') : NULL;

    assert_non_null(colon);
    return (int)strtol(colon + 1, NULL, 10);
}

/* The server announces its ports in a file of this folder. */
static inline void read_own_ports(void)
{
    int64_t deadline_ms = clock_now_ms() + OWN_WAIT_MS;
    char path[160];
    const char *found = NULL;

    (void)snprintf(path, sizeof path, "%s/nats-server_%d.ports", own_folder, (int)own_server);
    while (found == NULL && clock_left_ms(deadline_ms) > 0) {
        FILE *file = fopen(path, "r");

        if (file != NULL) {
            own_ports[fread(own_ports, 1, sizeof own_ports - 1, file)] = '\0';
            (void)fclose(file);
            found = strstr(own_ports, "nats://");
            found = found != NULL ? found : strstr(own_ports, "tls://");
        }
        (void)poll(NULL, 0, 10);
    }
    assert_non_null(found);
    (void)snprintf(own_url, sizeof own_url, "%.*s", (int)strcspn(found, "\""), found);
}

/* With the configuration and the streams in its folder. */
static inline void launch_own_server(void)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/conf", own_folder);
    own_server = fork();
    if (own_server == 0) {
        (void)(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && chdir(own_folder) == 0 &&
               freopen("log", "w", stdout) != NULL && freopen("log", "a", stderr) != NULL &&
               execlp(own_program, "nats-server", "-c", path, "--ports_file_dir", own_folder,
                      (char *)NULL));
        _exit(127);
    }
    read_own_ports();
}

/* `config`: everything but the address to listen on. */
static inline void start_own_server(const char *config)
{
    (void)snprintf(own_folder, sizeof own_folder, "/tmp/test_nats.XXXXXX");
    assert_non_null(mkdtemp(own_folder));
    write_own_config(config);
    launch_own_server();
}

static inline int own_log_count(const char *words)
{
    static char text[65536];
    char path[128];
    FILE *file;
    int count = 0;

    (void)snprintf(path, sizeof path, "%s/log", own_folder);
    file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    for (const char *at = text; (at = strstr(at, words)) != NULL; at++)
        count++;
    return count;
}

static inline bool own_log_says(const char *words)
{
    return own_log_count(words) > 0;
}

/* Waits until all threads have stopped: the others run on until the thread that takes the signal
 * has run. */
static inline void pause_own_server(void)
{
    int status;

    assert_int_equal(kill(own_server, SIGSTOP), 0);
    assert_int_equal(waitpid(own_server, &status, WUNTRACED), own_server);
    assert_true(WIFSTOPPED(status));
}

static inline void end_own_server(void)
{
    char command[128];

    assert_int_equal(kill(own_server, SIGKILL), 0);
    assert_int_equal(waitpid(own_server, NULL, 0), own_server);
    own_server = 0;
    (void)snprintf(command, sizeof command, "rm -rf %s", own_folder);
    assert_int_equal(system(command), 0);
}

#endif
