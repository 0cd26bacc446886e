/*
 * One thread serves all clients from memory, with one request per connection. It runs
 * libmicrohttpd's event loop itself, so all callbacks run in this thread, and it can end
 * connections that take too long. The number of clients, their memory and their time are limited.
 * Nothing is lost when a client is cut off.
 */
#include "http/http.h"

#include "base/clock.h"
#include "base/host.h"
#include "base/log_limit.h"
#include "http/listen.h"
#include "http/responses.h"
#include "http/sampler.h"
#include "wake/stop.h"

#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 64
#define CONNECTION_BYTES                                                                           \
    ((size_t)(16 * 1024))   /* memory for the request line, headers and buffers */
#define CONNECTION_S 10     /* limit without a byte */
#define CONNECTION_MS 15000 /* limit for the whole connection */
#define CROWD_MS 100        /* the same while no other client gets in */
#define LOOP_MS 1000
#define LISTEN_RETRY_MS 5000

struct client {
    bool used;
    int fd;
    int64_t since_ms;
};

struct http {
    const char *address;
    const struct report *report;
    struct sampler *sampler;
    struct stop stop;
    pthread_t thread;
    struct MHD_Daemon *daemon; /* NULL: not listening */
    bool is_local;             /* it listens on a loopback address */
    struct client clients[CONNECTIONS_MAX];
    struct relay_report snapshot;
};

static void log_library(void *unused, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void log_library(void *unused, const char *format, va_list args)
{
    char text[256];

    (void)unused;
    (void)vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\r\n")] = '\0';
    log_debug("libmicrohttpd: %s", text);
}

/* The library accepts no more than CONNECTIONS_MAX at a time. */
static void on_connection(void *argument, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http *http = argument;
    const union MHD_ConnectionInfo *info;
    struct client *client = *context;

    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (client != NULL)
            client->used = false;
        return;
    }
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    for (int i = 0; i < CONNECTIONS_MAX && info != NULL; i++) {
        client = &http->clients[i];
        if (client->used)
            continue;
        *client = (struct client){.used = true, .fd = info->connect_fd, .since_ms = clock_now_ms()};
        *context = client;
        return;
    }
}

static bool is_crowded(const struct http *http)
{
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        if (!http->clients[i].used)
            return false;
    return true;
}

/* To the library, a client that keeps sending a little or reads slowly is never idle. A crowd of
 * such clients must not keep a probe from /healthz: the relay would be restarted for nothing. */
static bool end_slow_clients(struct http *http)
{
    int64_t limit_ms = is_crowded(http) ? CROWD_MS : CONNECTION_MS;
    int64_t now_ms = clock_now_ms();
    bool has_ended = false;

    for (int i = 0; i < CONNECTIONS_MAX; i++)
        if (http->clients[i].used && now_ms - http->clients[i].since_ms > limit_ms) {
            (void)shutdown(http->clients[i].fd, SHUT_RDWR);
            has_ended = true;
        }
    return has_ended;
}

/* Takes ownership of the body. */
static enum MHD_Result respond(struct MHD_Connection *connection, const struct response *response)
{
    struct MHD_Response *queued =
        MHD_create_response_from_buffer(response->len, response->body, MHD_RESPMEM_MUST_FREE);
    enum MHD_Result result;

    if (queued == NULL) {
        free(response->body);
        return MHD_NO;
    }
    (void)MHD_add_response_header(queued, "Content-Type", response->type);
    (void)MHD_add_response_header(queued, "Cache-Control", "no-store");
    (void)MHD_add_response_header(queued, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(queued, "Connection", "close");
    if (response->policy != NULL) {
        (void)MHD_add_response_header(queued, "Content-Security-Policy", response->policy);
        (void)MHD_add_response_header(queued, "Referrer-Policy", "no-referrer");
    }
    if (response->code == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(queued, "Allow", "GET, HEAD");
    result = MHD_queue_response(connection, (unsigned)response->code, queued);
    MHD_destroy_response(queued);
    return result;
}

/* A page of another site may give its own name the address 127.0.0.1, and a browser of this machine
 * would then let it read what is served here (DNS rebinding). Its requests name that site. */
static bool is_host_accepted(const struct http *http, struct MHD_Connection *connection)
{
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");

    return !http->is_local || host == NULL || host_of_address_is_loopback(host);
}

static enum MHD_Result on_request(void *argument, struct MHD_Connection *connection,
                                  const char *url, const char *method, const char *version,
                                  const char *upload, size_t *upload_len, void **context)
{
    struct http *http = argument;
    struct response response;

    (void)version;
    (void)upload;
    (void)upload_len;
    (void)context;
    report_read(http->report, &http->snapshot);
    if (!is_host_accepted(http, connection))
        response = response_to_host();
    else if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        response = response_to_method();
    else
        response =
            response_for_path(url, &(const struct response_source){.options = http->report->options,
                                                                   .report = &http->snapshot,
                                                                   .sampler = http->sampler});
    return response.body != NULL ? respond(connection, &response) : MHD_NO;
}

static int start(struct http *http, struct error *error)
{
    int fd = listen_open(http->address, error);

    if (fd < 0)
        return -1;
    http->is_local = listen_is_local(fd);
    http->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, http,
        MHD_OPTION_EXTERNAL_LOGGER, log_library, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CONNECTION_S,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_END);
    if (http->daemon != NULL)
        return 0;
    (void)close(fd);
    return error_set(error, ERROR_TRANSIENT, ERROR_SELF, "libmicrohttpd does not start");
}

static void serve(struct http *http)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct pollfd events[2] = {{.fd = http->stop.fd, .events = POLLIN},
                               {.fd = info != NULL ? info->epoll_fd : -1, .events = POLLIN}};
    MHD_UNSIGNED_LONG_LONG library_ms;
    int wait_ms = is_crowded(http) ? CROWD_MS : LOOP_MS;

    if (MHD_get_timeout(http->daemon, &library_ms) == MHD_YES && (int64_t)library_ms < wait_ms)
        wait_ms = (int)library_ms;
    (void)poll(events, 2, wait_ms);
    /* After its last free place was taken, the library accepts again only in the next run. */
    if (end_slow_clients(http))
        (void)MHD_run(http->daemon);
    (void)MHD_run(http->daemon);
}

/* A failure is logged at once, and then once a minute while it lasts. */
static void try_to_listen(struct http *http, int64_t *logged_ms)
{
    struct error error;

    if (start(http, &error) == 0) {
        log_info("http: serving on %s", http->address);
        return;
    }
    if (log_limit_is_due(logged_ms, clock_now_ms()))
        log_event(LOG_WARN, LOG_FIELDS(.error = error.text, .hint = error.hint),
                  "http: nothing is served yet; the relay works without it and keeps trying");
}

static void *run(void *argument)
{
    struct http *http = argument;
    int64_t logged_ms = 0;

    while (!stop_requested(&http->stop)) {
        if (http->daemon != NULL) {
            serve(http);
            continue;
        }
        try_to_listen(http, &logged_ms);
        if (http->daemon == NULL)
            (void)stop_wait(&http->stop, LISTEN_RETRY_MS);
    }
    if (http->daemon != NULL)
        MHD_stop_daemon(http->daemon);
    return NULL;
}

struct http *http_open(const char *listen, const struct report *report)
{
    struct http *http;
    bool stops;

    if (listen[0] == '\0')
        return NULL;
    http = calloc(1, sizeof *http);
    if (http == NULL) {
        log_warn("http: out of memory: HTTP is not served");
        return NULL;
    }
    http->address = listen;
    http->report = report;
    stops = stop_init(&http->stop) == 0;
    http->sampler = stops ? sampler_open(report) : NULL;
    if (http->sampler != NULL && pthread_create(&http->thread, NULL, run, http) == 0)
        return http;
    log_warn("http: a thread could not be started: HTTP is not served");
    sampler_close(http->sampler);
    if (stops)
        stop_free(&http->stop);
    free(http);
    return NULL;
}

void http_close(struct http *http)
{
    if (http == NULL)
        return;
    stop_request(&http->stop);
    (void)pthread_join(http->thread, NULL);
    sampler_close(http->sampler);
    stop_free(&http->stop);
    free(http);
}
