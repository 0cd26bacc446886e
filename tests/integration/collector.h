#ifndef INTEGRATION_COLLECTOR_H
#define INTEGRATION_COLLECTOR_H

/* A collector of OpenTelemetry in the test's own process: it keeps the spans that are sent to it,
 * and answers as the test says. */

#include "integration/harness.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_BYTES (4 * 1024 * 1024)

enum collector_manner { TAKES, SAYS_NOTHING, TALKS_NONSENSE, NEVER_ENDS, IS_BUSY, REJECTS };

static struct {
    int fd;
    int port;
    pthread_t thread;
    atomic_bool ended;
    _Atomic enum collector_manner manner;
    atomic_int requests;
    pthread_mutex_t lock; /* guards the next two */
    json_t *spans;        /* of all requests that it has taken, an array */
    char head[4096];      /* of the last request: its first line and its headers */
} collector = {.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static inline void collector_keep(const char *body, size_t len)
{
    json_t *request = json_loadb(body, len, 0, NULL);
    json_t *resources = json_object_get(request, "resourceSpans");
    json_t *scope = json_array_get(json_object_get(json_array_get(resources, 0), "scopeSpans"), 0);

    (void)json_array_extend(collector.spans, json_object_get(scope, "spans"));
    json_decref(request);
}

/* Until the other side closes or the test has ended. */
static inline void collector_flood(int fd)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
    char block[4096];

    memset(block, '{', sizeof block);
    (void)!send(fd, head, strlen(head), MSG_NOSIGNAL);
    while (!atomic_load(&collector.ended) && send(fd, block, sizeof block, MSG_NOSIGNAL) > 0)
        continue;
}

static inline void collector_answer(int fd)
{
    static const char *const answers[] = {
        [TAKES] = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
        [TALKS_NONSENSE] =
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\n<html>",
        [IS_BUSY] = "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nConnection: close\r\n"
                    "Content-Length: 0\r\n\r\n",
        [REJECTS] = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 65\r\n\r\n"
                    "{\"partialSuccess\":{\"rejectedSpans\":\"1\",\"errorMessage\":\"too old\"}}",
    };
    enum collector_manner manner = atomic_load(&collector.manner);
    struct pollfd other = {.fd = fd, .events = POLLIN};

    if (manner == NEVER_ENDS)
        collector_flood(fd);
    else if (manner != SAYS_NOTHING)
        (void)!send(fd, answers[manner], strlen(answers[manner]), MSG_NOSIGNAL);
    else
        while (!atomic_load(&collector.ended) && poll(&other, 1, 10) == 0)
            continue;
}

static inline void collector_serve(int fd)
{
    static char request[REQUEST_BYTES];
    const char *length;
    char *body;
    size_t len = 0;
    size_t want = sizeof request - 1;
    ssize_t got;

    while (len < want && (got = recv(fd, request + len, want - len, 0)) > 0) {
        len += (size_t)got;
        request[len] = '\0';
        body = strstr(request, "\r\n\r\n");
        length = strstr(request, "Content-Length: ");
        if (body != NULL && length != NULL)
            want = (size_t)(body + 4 - request) + strtoul(length + 16, NULL, 10);
    }
    body = strstr(request, "\r\n\r\n");
    if (len == 0 || body == NULL)
        return;
    (void)pthread_mutex_lock(&collector.lock);
    (void)snprintf(collector.head, sizeof collector.head, "%.*s", (int)(body - request), request);
    if (atomic_load(&collector.manner) == TAKES)
        collector_keep(body + 4, len - (size_t)(body + 4 - request));
    (void)pthread_mutex_unlock(&collector.lock);
    (void)atomic_fetch_add(&collector.requests, 1);
    collector_answer(fd);
}

static inline void *collector_run(void *unused)
{
    struct pollfd waiting = {.fd = collector.fd, .events = POLLIN};

    (void)unused;
    while (!atomic_load(&collector.ended))
        if (poll(&waiting, 1, 10) > 0) {
            int fd = accept(collector.fd, NULL, NULL);

            collector_serve(fd);
            (void)close(fd);
        }
    return NULL;
}

static inline void collector_open(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;

    collector.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(collector.fd, (const struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(collector.fd, 16), 0);
    assert_int_equal(getsockname(collector.fd, (struct sockaddr *)&at, &len), 0);
    collector.port = ntohs(at.sin_port);
    collector.spans = json_array();
    atomic_store(&collector.ended, false);
    atomic_store(&collector.manner, TAKES);
    atomic_store(&collector.requests, 0);
    assert_int_equal(pthread_create(&collector.thread, NULL, collector_run, NULL), 0);
}

/* Nobody listens any more. May be called twice. */
static inline void collector_close(void)
{
    if (collector.fd < 0)
        return;
    atomic_store(&collector.ended, true);
    (void)pthread_join(collector.thread, NULL);
    (void)close(collector.fd);
    collector.fd = -1;
    json_decref(collector.spans);
}

static inline size_t collector_count(void)
{
    size_t count;

    (void)pthread_mutex_lock(&collector.lock);
    count = json_array_size(collector.spans);
    (void)pthread_mutex_unlock(&collector.lock);
    return count;
}

static inline void collector_await(size_t spans)
{
    int64_t deadline_ms = clock_now_ms() + HARNESS_WAIT_MS;

    while (collector_count() < spans) {
        if (clock_left_ms(deadline_ms) == 0)
            fail_msg("%zu spans have come, not %zu", collector_count(), spans);
        harness_pause();
    }
}

/* Of an attribute of a span: its value as text; "": it has none. */
static inline const char *span_attribute(const json_t *span, const char *key)
{
    const json_t *attributes = json_object_get(span, "attributes");

    for (size_t i = 0; i < json_array_size(attributes); i++) {
        const json_t *attribute = json_array_get(attributes, i);
        const json_t *value = json_object_get(attribute, "value");
        const char *text = json_string_value(json_object_get(value, "stringValue"));

        if (strcmp(json_string_value(json_object_get(attribute, "key")), key) == 0)
            return text != NULL ? text : json_string_value(json_object_get(value, "intValue"));
    }
    return "";
}

/* The span of a row, by its place among those that have come; the test fails if there is none. */
static inline const json_t *collector_span(const char *row, int place)
{
    for (size_t i = 0; i < json_array_size(collector.spans); i++) {
        const json_t *span = json_array_get(collector.spans, i);

        if (strcmp(span_attribute(span, "outbox.row"), row) == 0 && place-- == 0)
            return span;
    }
    fail_msg("there is no such span of row %s", row);
    return NULL;
}

static inline void assert_attribute(const json_t *span, const char *key, const char *value)
{
    assert_string_equal(span_attribute(span, key), value);
}

static inline void assert_member(const json_t *span, const char *key, const char *value)
{
    const char *has = json_string_value(json_object_get(span, key));

    assert_string_equal(has != NULL ? has : "", value);
}

/* In nanoseconds since 1970; the test fails if there is no such event. */
static inline int64_t span_event(const json_t *span, const char *name)
{
    const json_t *events = json_object_get(span, "events");

    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);

        if (strcmp(json_string_value(json_object_get(event, "name")), name) == 0)
            return strtoll(json_string_value(json_object_get(event, "timeUnixNano")), NULL, 10);
    }
    fail_msg("there is no event %s", name);
    return 0;
}

static inline int64_t span_time(const json_t *span, const char *member)
{
    return strtoll(json_string_value(json_object_get(span, member)), NULL, 10);
}

#endif
