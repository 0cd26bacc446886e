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

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVER_TIMEOUT_MS_MIN 500
#define PING_INTERVAL_MS 5000
#define PINGS_OUT_MAX 2
#define WRITE_DEADLINE_MS_MAX 5000
#define API_TIMEOUT_MS 1000
#define HOST_BYTES_MAX 256

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

/* The host name always: a server may ask a plain URL for TLS. */
static natsStatus set_tls(natsOptions *library, const struct sink_options *options,
                          const char *server)
{
    char host[HOST_BYTES_MAX];
    natsStatus status;

    host_of(server, host, sizeof host);
    status = natsOptions_SetExpectedHostname(library, host);
    if (status == NATS_OK && is_secure(options, server))
        status = natsOptions_SetSecure(library, true);
    if (status == NATS_OK && options->tls_ca_file != NULL)
        status = natsOptions_LoadCATrustedCertificates(library, options->tls_ca_file);
    if (status == NATS_OK && options->tls_cert_file != NULL)
        status = natsOptions_LoadCertificatesChain(library, options->tls_cert_file,
                                                   options->tls_key_file);
    return status;
}

/* The value itself, or the file's, or NULL when neither is given. */
static int read_secret(const char *value, const char *path, char **secret, struct error *error)
{
    *secret = NULL;
    if (path != NULL)
        *secret = secret_read(path, error);
    else if (value != NULL && (*secret = strdup(value)) == NULL)
        error_no_memory(error);
    return *secret == NULL && (path != NULL || value != NULL) ? -1 : 0;
}

static int set_login(natsOptions *library, const struct sink_options *options, struct error *error)
{
    char *password = NULL;
    char *token = NULL;
    natsStatus status = NATS_OK;
    int read = read_secret(options->password, options->password_file, &password, error);

    if (read == 0)
        read = read_secret(options->token, options->token_file, &token, error);
    if (read == 0 && options->username != NULL)
        status = natsOptions_SetUserInfo(library, options->username, password);
    if (read == 0 && status == NATS_OK && token != NULL)
        status = natsOptions_SetToken(library, token);
    if (read == 0 && status == NATS_OK && options->credentials_file != NULL)
        status = natsOptions_SetUserCredentialsFromFiles(library, options->credentials_file, NULL);
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

static natsStatus set_behaviour(natsOptions *library, const struct nats *nats, const char *server,
                                int timeout_ms)
{
    struct nats_acks *acks = nats->acks;

    if (natsOptions_SetURL(library, server) != NATS_OK ||
        natsOptions_SetName(library, "outbox-relay") != NATS_OK ||
        natsOptions_SetAllowReconnect(library, false) != NATS_OK ||
        natsOptions_SetTimeout(library, timeout_ms) != NATS_OK ||
        natsOptions_SetPingInterval(library, PING_INTERVAL_MS) != NATS_OK ||
        natsOptions_SetMaxPingsOut(library, PINGS_OUT_MAX) != NATS_OK ||
        natsOptions_SetWriteDeadline(library, write_deadline_ms(nats)) != NATS_OK ||
        natsOptions_SetFailRequestsOnDisconnect(library, true) != NATS_OK ||
        natsOptions_SetDisconnectedCB(library, on_lost, acks) != NATS_OK ||
        natsOptions_SetClosedCB(library, on_lost, acks) != NATS_OK ||
        natsOptions_SetErrorHandler(library, on_problem, acks) != NATS_OK)
        return NATS_ERR;
    return NATS_OK;
}

static natsOptions *make_options(const struct nats *nats, const char *server, int timeout_ms,
                                 struct error *error)
{
    const struct sink_options *options = nats->base.options;
    natsOptions *library = NULL;
    natsStatus status = natsOptions_Create(&library);

    if (status == NATS_OK)
        status = set_behaviour(library, nats, server, timeout_ms);
    if (status == NATS_OK)
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
    natsOptions *library = make_options(nats, server, timeout_ms, error);
    natsStatus status;

    if (library == NULL)
        return -1;
    nats->address = server;
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
    int64_t deadline_ms = clock_now_ms() + broker_patience_ms(&nats->base);

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

/* The batch is the limit of what is pending, so the library never stalls a publish. */
static int open_context(struct nats *nats, struct error *error)
{
    jsOptions library;
    natsStatus status = jsOptions_Init(&library);

    library.Wait = API_TIMEOUT_MS;
    library.PublishAsync.MaxPending = 0;
    library.PublishAsync.AckHandler = on_ack;
    library.PublishAsync.AckHandlerClosure = nats->acks;
    if (status == NATS_OK)
        status = natsConnection_JetStream(&nats->context, nats->connection, &library);
    if (status == NATS_OK)
        return 0;
    return nats_fail(nats, error, ERROR_TRANSIENT, nats_text(status));
}

int nats_connect(struct nats *nats, struct error *error)
{
    if (nats->connection != NULL && !nats_acks_lost(nats->acks))
        return 0;
    nats_disconnect(nats);
    if (connect_to_any(nats, error) < 0)
        return -1;
    nats_acks_watch(nats->acks, nats->connection);
    if (open_context(nats, error) == 0) {
        nats->message_bytes_max = natsConnection_GetMaxPayload(nats->connection);
        nats->stream_checked = false;
        nats->warned = false;
        nats->fetches_end = false;
        return 0;
    }
    nats_disconnect(nats);
    return -1;
}

void nats_disconnect(struct nats *nats)
{
    nats_acks_watch(nats->acks, NULL);
    if (nats->connection == NULL)
        return;
    natsConnection_Close(nats->connection);
    jsCtx_Destroy(nats->context);
    natsConnection_Destroy(nats->connection);
    nats->context = NULL;
    nats->connection = NULL;
}
