/*
 * A connection: options, servers, secrets, TLS.
 *
 * The library's own reconnect is off, because it publishes what its buffer holds after the batch
 * has been given up. Servers are tried one by one, each with the host name that its certificate
 * must show; the library's list of servers knows one expected name only. The first one tried
 * differs from broker to broker, so that lanes spread over a cluster.
 *
 * Deliberately not done: following the servers that a cluster announces. Those that are configured
 * are the ones that the operator has agreed to.
 */

#include "broker/nats.h"

#include "base/background.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVER_TIMEOUT_MS_MIN 500
#define PING_INTERVAL_MS 5000
#define PINGS_OUT_MAX 2
#define WRITE_DEADLINE_MS_MAX 5000
#define HOST_BYTES_MAX 256
#define ANSWERS_MS 1000 /* beside the patience: of the greeting and about the stream */

int nats_fail(const struct nats *nats, struct error *error, enum error_kind kind, const char *text)
{
    return error_set(error, kind, ERROR_BROKER, "nats at %s: %s", nats->address, text);
}

/* The library's last word knows more than the status; "(conn.c:733): " before it is the library's
 * own concern. */
const char *nats_text(natsStatus status)
{
    const char *text = nats_GetLastError(NULL);
    const char *end = text != NULL && text[0] == '(' ? strstr(text, "): ") : NULL;

    if (text == NULL || text[0] == '\0')
        return natsStatus_GetText(status);
    return end != NULL ? end + 3 : text;
}

static bool is_secure(const struct sink_options *options, const char *server)
{
    return strncmp(server, "tls://", 6) == 0 || options->tls_ca_file != NULL ||
           options->tls_cert_file != NULL;
}

/* "nats://host:4222" -> "host", "tls://[::1]:4222" -> "::1". */
static void host_of(const char *server, char *host, size_t size)
{
    const char *scheme = strstr(server, "://");
    const char *start = scheme != NULL ? scheme + 3 : server;
    size_t len = strcspn(start, ":/");

    if (*start == '[')
        len = strcspn(++start, "]");
    (void)snprintf(host, size, "%.*s", (int)len, start);
}

static natsStatus set_tls(natsOptions *library, const struct sink_options *options,
                          const char *server)
{
    char host[HOST_BYTES_MAX];
    natsStatus status;

    host_of(server, host, sizeof host);
    status = natsOptions_SetExpectedHostname(library, host);
    if (status == NATS_OK)
        status = natsOptions_SetSecure(library, true);
    if (status == NATS_OK && options->tls_ca_file != NULL)
        status = natsOptions_LoadCATrustedCertificates(library, options->tls_ca_file);
    if (status == NATS_OK && options->tls_cert_file != NULL)
        status = natsOptions_LoadCertificatesChain(library, options->tls_cert_file,
                                                   options->tls_key_file);
    return status;
}

static char *read_file(const struct sink_options *options, const char *key, const char *path,
                       struct error *error)
{
    struct error cause;
    char *secret = secret_read(path, &cause);

    if (secret == NULL && cause.origin == ERROR_CONFIG)
        (void)error_set(error, cause.kind, cause.origin, "[sink.%s] %s: %s", options->name, key,
                        cause.text);
    else if (secret == NULL)
        *error = cause;
    return secret;
}

/* The library reads it while it connects, and what it cannot read looks like a server's refusal. */
static int check_readable(const struct sink_options *options, const char *key, const char *path,
                          struct error *error)
{
    if (path == NULL || access(path, R_OK) == 0)
        return 0;
    return error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "[sink.%s] %s: %s: %s", options->name,
                     key, path, strerror(errno));
}

/* The value itself, or the file's, or NULL when neither is given. */
static int read_secret(const struct sink_options *options, const char *key, const char *value,
                       const char *path, char **secret, struct error *error)
{
    *secret = NULL;
    if (path != NULL)
        *secret = read_file(options, key, path, error);
    else if (value != NULL && (*secret = strdup(value)) == NULL)
        error_no_memory(error);
    return *secret == NULL && (path != NULL || value != NULL) ? -1 : 0;
}

static int set_login(natsOptions *library, const struct sink_options *options, struct error *error)
{
    char *password = NULL;
    char *token = NULL;
    natsStatus status = NATS_OK;
    int read = read_secret(options, "password_file", options->password, options->password_file,
                           &password, error);

    if (read == 0)
        read =
            read_secret(options, "token_file", options->token, options->token_file, &token, error);
    if (read == 0)
        read = check_readable(options, "credentials_file", options->credentials_file, error);
    if (read == 0)
        read = check_readable(options, "nkey_file", options->nkey_file, error);
    if (read == 0 && options->username != NULL)
        status = natsOptions_SetUserInfo(library, options->username, password);
    if (read == 0 && status == NATS_OK && token != NULL)
        status = natsOptions_SetToken(library, token);
    if (read == 0 && status == NATS_OK && options->credentials_file != NULL)
        status = natsOptions_SetUserCredentialsFromFiles(library, options->credentials_file, NULL);
    if (read == 0 && status == NATS_OK && options->nkey != NULL)
        status = natsOptions_SetNKeyFromSeed(library, options->nkey, options->nkey_file);
    secret_free(password);
    secret_free(token);
    if (status != NATS_OK)
        return error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "[sink.%s]: %s", options->name,
                         nats_text(status));
    return read;
}

/* One for a write that is stuck, and one for the flush when the connection is closed. */
static int64_t write_deadline_ms(const struct nats *nats)
{
    int64_t half_ms = nats->base.options->publish_timeout_ms / 2;

    return half_ms < WRITE_DEADLINE_MS_MAX ? half_ms : WRITE_DEADLINE_MS_MAX;
}

static natsStatus set_threads(natsOptions *library, const struct nats *nats)
{
    if (natsOptions_SetPingInterval(library, PING_INTERVAL_MS) != NATS_OK ||
        natsOptions_SetMaxPingsOut(library, PINGS_OUT_MAX) != NATS_OK ||
        natsOptions_SetWriteDeadline(library, write_deadline_ms(nats)) != NATS_OK)
        return NATS_ERR;
    return NATS_OK;
}

static natsStatus set_behaviour(natsOptions *library, struct nats *nats, const char *server,
                                int timeout_ms)
{
    if (natsOptions_SetURL(library, server) != NATS_OK ||
        natsOptions_SetName(library, "outbox-relay") != NATS_OK ||
        natsOptions_SetAllowReconnect(library, false) != NATS_OK ||
        natsOptions_SetTimeout(library, timeout_ms) != NATS_OK ||
        nats_problems_set(library, nats->problems) != NATS_OK)
        return NATS_ERR;
    return nats->threaded ? set_threads(library, nats) : nats_set_loop(library, nats);
}

/* On threads of its own the library frees messages, above all. Nobody spins for a lock whose owner
 * has no processor. */
static void open_library(void)
{
    int policy = background_enter();

    (void)nats_Open(0);
    background_leave(policy);
}

static natsOptions *make_options(struct nats *nats, const char *server, int timeout_ms,
                                 struct error *error)
{
    const struct sink_options *options = nats->base.options;
    static pthread_once_t opened = PTHREAD_ONCE_INIT;
    natsOptions *library = NULL;
    natsStatus status;

    (void)pthread_once(&opened, open_library);
    status = natsOptions_Create(&library);

    if (status == NATS_OK)
        status = set_behaviour(library, nats, server, timeout_ms);
    if (status == NATS_OK && nats->threaded)
        status = set_tls(library, options, server);
    if (status != NATS_OK)
        error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "[sink.%s]: %s: %s", options->name, server,
                  nats_text(status));
    else if (set_login(library, options, error) == 0)
        return library;
    natsOptions_Destroy(library);
    return NULL;
}

/* Waiting mends neither a wrong password nor a certificate. */
static enum error_kind kind_of(natsStatus status)
{
    switch (status) {
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_SECURE_CONNECTION_WANTED:
    case NATS_SECURE_CONNECTION_REQUIRED:
    case NATS_SSL_ERROR:
        return ERROR_PERMANENT;
    default:
        return ERROR_TRANSIENT;
    }
}

static int connect_to(struct nats *nats, const char *server, int timeout_ms, struct error *error)
{
    natsOptions *library;
    natsStatus status;

    nats->address = server;
    nats->threaded = nats->needs_tls || is_secure(nats->base.options, server);
    library = make_options(nats, server, timeout_ms, error);
    if (library == NULL)
        return -1;
    status = natsConnection_Connect(&nats->connection, library);
    natsOptions_Destroy(library);
    if (status == NATS_OK)
        return 0;
    nats->connection = NULL;
    return nats_fail(nats, error, kind_of(status), nats_text(status));
}

static int connect_to_any(struct nats *nats, struct error *error)
{
    const struct text_list *servers = &nats->base.options->servers;
    int64_t deadline_ms = nats->ready_ms - ANSWERS_MS;

    for (int untried = servers->count; untried > 0; untried--) {
        const char *server = servers->items[nats->server++ % (unsigned)servers->count];
        int left_ms = clock_left_ms(deadline_ms);
        int timeout_ms = left_ms / untried;

        if (left_ms == 0)
            break;
        if (timeout_ms < SERVER_TIMEOUT_MS_MIN)
            timeout_ms = left_ms < SERVER_TIMEOUT_MS_MIN ? left_ms : SERVER_TIMEOUT_MS_MIN;
        if (connect_to(nats, server, timeout_ms, error) == 0)
            return 0;
    }
    return -1;
}

static natsStatus greet(struct nats *nats, int64_t deadline_ms)
{
    char subject[NATS_TEXT_BYTES];
    char reply[NATS_REPLY_BYTES];
    natsStatus status;

    (void)snprintf(subject, sizeof subject, "$JS.API.STREAM.INFO.%s", nats->base.options->stream);
    nats_reply_subject(nats, nats->asked++, reply);
    status = natsConnection_PublishRequestString(nats->connection, subject, reply, "");
    while (status == NATS_OK && nats->wants_write) {
        struct pollfd wait = {.fd = nats->socket, .events = POLLOUT};

        if (poll(&wait, 1, clock_left_ms(deadline_ms)) != 1)
            return NATS_TIMEOUT;
        natsConnection_ProcessWriteEvent(nats->connection);
    }
    return status;
}

/* A question that every user of a relay may ask, and whose answer nobody awaits. What comes back
 * is text, or a record of TLS, whose types are control characters. */
static natsStatus hear_out(struct nats *nats, int64_t deadline_ms)
{
    natsStatus status = greet(nats, deadline_ms);
    struct pollfd wait = {.fd = nats->socket, .events = POLLIN};
    char first;

    if (status != NATS_OK || poll(&wait, 1, clock_left_ms(deadline_ms)) != 1 ||
        recv(nats->socket, &first, 1, MSG_PEEK | MSG_DONTWAIT) != 1)
        return status != NATS_OK ? status : NATS_TIMEOUT;
    nats->needs_tls = first < ' ';
    return nats->needs_tls ? NATS_SECURE_CONNECTION_REQUIRED : NATS_OK;
}

static int open_connection(struct nats *nats, struct error *error)
{
    natsStatus status;

    if (connect_to_any(nats, error) < 0)
        return -1;
    nats_problems_watch(nats->problems, nats->connection);
    status = nats_open_inbox(nats);
    if (status == NATS_OK)
        nats_try_block(nats);
    if (status == NATS_OK && !nats->threaded)
        status = hear_out(nats, nats->ready_ms);
    if (status == NATS_OK)
        return 0;
    nats_disconnect(nats);
    return nats_fail(nats, error, ERROR_TRANSIENT, natsStatus_GetText(status));
}

/* A server may ask a plain URL for TLS, and the library complies without a word. */
int nats_connect(struct nats *nats, struct error *error)
{
    bool had_needed_tls = nats->needs_tls;
    int status;

    nats->ready_ms = clock_now_ms() + broker_patience_ms(&nats->base) + ANSWERS_MS;
    if (nats->connection != NULL)
        nats_rest(nats);
    if (!nats_lost(nats) && !nats->doubts_max)
        return 0;
    nats_disconnect(nats);
    status = open_connection(nats, error);
    if (status < 0 && nats->needs_tls && !had_needed_tls)
        status = open_connection(nats, error);
    if (status < 0) {
        nats->needs_tls = false;
        return -1;
    }
    nats->message_bytes_max = natsConnection_GetMaxPayload(nats->connection);
    nats->told_ms = clock_now_ms();
    nats->doubts_max = false;
    nats->stream_found = false;
    nats->warned = false;
    nats->fetches_end = false;
    nats->may_not_fetch = false;
    return 0;
}

/* The inbox last: an open connection would be told to forget it. */
void nats_disconnect(struct nats *nats)
{
    nats_problems_watch(nats->problems, NULL);
    if (nats->connection == NULL)
        return;
    nats_hang_up(nats);
    natsConnection_Close(nats->connection);
    nats_close_inbox(nats);
    natsConnection_Destroy(nats->connection);
    nats->connection = NULL;
    nats->wants_write = false;
    nats->socket = -1;
}
