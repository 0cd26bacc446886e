#ifndef INTEGRATION_HTTP_H
#define INTEGRATION_HTTP_H

/* A client of the relay's HTTP server, and a relay that serves. */

#include "integration/program.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_BYTES (1024 * 1024)

static int port; /* of the relay in hand */
static char answer[ANSWER_BYTES];

static inline struct sockaddr_in address(void)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* Listens on it until it is closed. */
static inline int take_port(void)
{
    struct sockaddr_in at;
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    port = 0;
    at = address();
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    port = ntohs(at.sin_port);
    return fd;
}

/* With the port in hand. */
static inline void configure_port(struct fixture *fixture)
{
    write_relay_toml(fixture,
                     "[outbox]\nslices = 4\n"
                     "[relay]\npoll_interval = \"50ms\"\n"
                     "[http]\nlisten = \"127.0.0.1:%d\"\n[sink.out]\n"
                     "type = \"stdout\"\n[[route]]\nmatch = \"good.>\"\n",
                     port);
}

static inline void configure_http(struct fixture *fixture)
{
    (void)close(take_port());
    configure_port(fixture);
}

static inline int set_up_http(void **state)
{
    return fixture_open(state, configure_http);
}

/* -1: refused. */
static inline int dial(void)
{
    const struct timeval patience = {.tv_sec = 20};
    struct sockaddr_in at = address();
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, (const struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static inline void send_text(int fd, const char *text)
{
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* Into `answer`, until the other side closes. */
static inline void read_answer(int fd)
{
    size_t len = 0;
    ssize_t got;

    while (len < sizeof answer - 1 &&
           (got = recv(fd, answer + len, sizeof answer - 1 - len, 0)) > 0)
        len += (size_t)got;
    answer[len] = '\0';
}

/* The status of HTTP; 0: nobody listens, or there was no answer. */
static inline int ask_host(const char *method, const char *path, const char *host)
{
    char request[256];
    int fd = dial();

    answer[0] = '\0';
    if (fd < 0)
        return 0;
    (void)snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: %s\r\n\r\n", method, path,
                   host);
    send_text(fd, request);
    read_answer(fd);
    (void)close(fd);
    return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? (int)strtol(answer + 9, NULL, 10) : 0;
}

static inline int ask(const char *method, const char *path)
{
    return ask_host(method, path, "localhost");
}

/* Until the answer to GET is of this kind and says this. */
static inline void await_answer(const char *path, int status, const char *words)
{
    int64_t began_ms = harness_now_ms();

    while (ask("GET", path) != status || strstr(answer, words) == NULL) {
        if (harness_now_ms() > began_ms + HARNESS_WAIT_MS) {
            (void)fprintf(stderr, "%s\n", answer); /* which is too long for cmocka */
            fail_msg("%s has not answered %d with \"%s\"", path, status, words);
        }
        harness_pause_since(began_ms);
    }
}

static inline void start(struct fixture *fixture)
{
    process_free(&fixture->process); /* what was run before */
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    await_answer("/healthz", 200, "ok");
}

static inline void stop_relay(struct fixture *fixture)
{
    process_stop(&fixture->process, SIGTERM);
    expect(fixture, fixture->process.status, 0);
}

#endif
