/*
 * Connecting: options, servers, secrets, TLS.
 *
 * The library's connect call runs on a thread of its own and under our deadline, because the
 * library limits neither a name lookup nor, before version 3.11, a TLS handshake.
 *
 * The library's own reconnect is off, because it would publish what its buffer holds after the
 * batch has been given up. Servers are tried one by one, each with the host name that its
 * certificate must contain; the library's own list of servers supports only one expected name. Each
 * broker object starts with another server, so that lanes spread over a cluster.
 *
 * Deliberately not done: connecting to servers that a cluster announces. The operator has agreed to
 * the configured ones only.
 */

#include "broker/nats/nats.h"

#include "base/background.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVER_TIMEOUT_MS_MIN 500
#define PING_INTERVAL_MS 5000
#define PINGS_OUT_MAX 2
#define WRITE_DEADLINE_MS_MAX 5000
#define HOST_BYTES_MAX 256
#define ANSWERS_MS 1000 /* in addition to the connect timeout, for requests about the stream */
#define TLS_VERSION 0x030B00
#define SIGNATURE_VERSION 0x030800
#define SIGNATURE_TRIES 4
#define TLS_NEEDS "TLS to NATS needs nats.c 3.11 or later"
#define TLS_HINT                                                                                   \
    "run the container image, which has a newer nats.c, or build with a newer one; or remove "     \
    "tls_ca_file, tls_cert_file and tls_key_file, and connect to a TLS proxy on this machine "     \
    "with nats://127.0.0.1"
#define TLS_WANTED "the server requires TLS, and " TLS_NEEDS
#define DIAL_SLACK_MS 100 /* grace after the library's own timeout before it counts as hanging */

int nats_fail(const struct nats *nats, struct error *error, enum error_kind kind, const char *text)
{
    return error_set(error, kind, ERROR_BROKER, "[sink.%s] nats at %s: %s",
                     nats->base.options->name, nats->address, text);
}

/* The library's last error says more than the status. Its source position, as in "(conn.c:733): ",
 * is cut off. */
const char *nats_error_text(natsStatus status)
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

/* Before 3.11 two threads of the library use one TLS connection without a lock, which OpenSSL does
 * not allow. This has corrupted records and crashed processes. */
bool nats_tls_is_safe(void)
{
    return nats_GetVersionNumber() >= TLS_VERSION;
}

int nats_check_tls(const struct sink_options *options, struct error *error)
{
    const char *key = options->tls_ca_file != NULL     ? "tls_ca_file"
                      : options->tls_cert_file != NULL ? "tls_cert_file"
                                                       : NULL;

    for (int i = 0; i < options->servers.count; i++)
        if (strncmp(options->servers.items[i], "tls://", 6) == 0)
            key = "servers";
    if (key == NULL || nats_tls_is_safe())
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                    "[sink.%s] %s: " TLS_NEEDS "; this program runs with %s, in which two "
                    "threads use one TLS connection without a lock",
                    options->name, key, nats_GetVersion());
    return error_hint(error, TLS_HINT);
}

static natsStatus set_tls(natsOptions *library, const struct sink_options *options,
                          const char *server)
{
    const char *scheme = strstr(server, "://");
    const char *start = scheme != NULL ? scheme + 3 : server;
    size_t len = strcspn(start, ":/"); /* of "host" in "nats://host:4222" */
    char host[HOST_BYTES_MAX];
    natsStatus status;

    if (*start == '[')
        len = strcspn(++start, "]");
    (void)snprintf(host, sizeof host, "%.*s", (int)len, start);
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

/* The library reads the file while it connects, and reports an unreadable file like a refusal by
 * the server. */
static int check_readable(const struct sink_options *options, const char *key, const char *path,
                          struct error *error)
{
    if (path == NULL || access(path, R_OK) == 0)
        return 0;
    return error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "[sink.%s] %s: %s: %s", options->name,
                     key, path, strerror(errno));
}

/* *secret: the value, or the file's content, or NULL when neither is given. */
static int read_secret(const struct sink_options *options, const char *key, const char *value,
                       const char *path, char **secret, struct error *error)
{
    struct error cause;

    *secret = path != NULL ? secret_read(path, &cause) : NULL;
    if (path != NULL && *secret == NULL && cause.origin == ERROR_CONFIG)
        (void)error_set(error, cause.kind, cause.origin, "[sink.%s] %s: %s", options->name, key,
                        cause.text);
    else if (path != NULL && *secret == NULL)
        *error = cause;
    else if (path == NULL && value != NULL && (*secret = strdup(value)) == NULL)
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
                         nats_error_text(status));
    return read;
}

/* A write may take at most half of the publish timeout, because both a stuck write and the flush
 * when closing wait this long. nats_set_loop() is for connections that the lane serves itself. */
static natsStatus set_behaviour(natsOptions *library, struct nats *nats, struct nats_io *io,
                                const char *server, int timeout_ms)
{
    int64_t half_ms = nats->base.options->publish_timeout_ms / 2;

    if (natsOptions_SetURL(library, server) != NATS_OK ||
        natsOptions_SetName(library, "outbox-relay") != NATS_OK ||
        natsOptions_SetAllowReconnect(library, false) != NATS_OK ||
        natsOptions_SetTimeout(library, timeout_ms) != NATS_OK ||
        nats_problems_set(library, nats->problems) != NATS_OK)
        return NATS_ERR;
    if (!nats->threaded)
        return nats_set_loop(library, io);
    if (natsOptions_SetPingInterval(library, PING_INTERVAL_MS) != NATS_OK ||
        natsOptions_SetMaxPingsOut(library, PINGS_OUT_MAX) != NATS_OK ||
        natsOptions_SetWriteDeadline(
            library, half_ms < WRITE_DEADLINE_MS_MAX ? half_ms : WRITE_DEADLINE_MS_MAX) != NATS_OK)
        return NATS_ERR;
    return NATS_OK;
}

/* The library's threads, which mainly free messages, have background priority. The library does
 * not spin for locks (0), because their owner may not be running. */
static void open_library(void)
{
    int policy = background_enter();

    (void)nats_Open(0);
    background_leave(policy);
}

static natsOptions *make_options(struct nats *nats, struct nats_io *io, const char *server,
                                 int timeout_ms, struct error *error)
{
    const struct sink_options *options = nats->base.options;
    static pthread_once_t opened = PTHREAD_ONCE_INIT;
    natsOptions *library = NULL;
    natsStatus status;

    (void)pthread_once(&opened, open_library);
    status = natsOptions_Create(&library);

    if (status == NATS_OK)
        status = set_behaviour(library, nats, io, server, timeout_ms);
    if (status != NATS_OK)
        error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "[sink.%s]: %s: %s", options->name, server,
                  nats_error_text(status));
    else if (set_login(library, options, error) == 0)
        return library;
    natsOptions_Destroy(library);
    return NULL;
}

/* A wrong password or certificate is permanent. A server that accepts no more connections says so
 * in plain text even where TLS is expected; OpenSSL takes that text for a wrong TLS version. */
static enum error_kind kind_of(natsStatus status, const char *text)
{
    if (strstr(text, "wrong version number") != NULL)
        return ERROR_TRANSIENT;
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

/* Arguments and result of connecting, which runs on the thread of a bounded call. */
struct dial {
    const struct sink_options *sink;
    const char *server;
    bool secure;
    bool unreadable; /* a TLS file could not be loaded */
    natsOptions *options;
    struct nats_io *io;
    natsConnection *connection;
    natsStatus status;
    char text[NATS_TEXT_BYTES];
};

/* Before 3.8 the library sends no signature when the first byte of the signature is zero, which one
 * of 256 is, and the server refuses the login (nats.c #705). The next attempt signs another nonce.
 */
static int login_tries(const struct sink_options *options)
{
    bool is_signed = options->credentials_file != NULL || options->nkey_file != NULL;

    return is_signed && nats_GetVersionNumber() < SIGNATURE_VERSION ? SIGNATURE_TRIES : 1;
}

static void dial_work(void *argument)
{
    struct dial *dial = argument;
    int tries = login_tries(dial->sink);

    dial->status = dial->secure ? set_tls(dial->options, dial->sink, dial->server) : NATS_OK;
    dial->unreadable = dial->status != NATS_OK;
    if (dial->status == NATS_OK)
        dial->status = natsConnection_Connect(&dial->connection, dial->options);
    while (dial->status == NATS_CONNECTION_AUTH_FAILED && --tries > 0)
        dial->status = natsConnection_Connect(&dial->connection, dial->options);
    if (dial->status != NATS_OK)
        (void)snprintf(dial->text, sizeof dial->text, "%s", nats_error_text(dial->status));
}

static void dial_drop(void *argument)
{
    struct dial *dial = argument;

    if (dial->status == NATS_OK) {
        natsConnection_Close(dial->connection);
        natsConnection_Destroy(dial->connection);
    }
    natsOptions_Destroy(dial->options);
    free(dial->io);
    free(dial);
}

/* NULL with *error set. */
static struct dial *make_dial(struct nats *nats, const char *server, int timeout_ms,
                              struct error *error)
{
    struct dial *dial = calloc(1, sizeof *dial);
    struct nats_io *io = calloc(1, sizeof *io);

    if (dial == NULL || io == NULL) {
        error_no_memory(error);
    } else {
        io->socket = -1;
        *dial = (struct dial){.sink = nats->base.options,
                              .server = server,
                              .secure = nats->threaded,
                              .io = io,
                              .status = NATS_ERR};
        dial->options = make_options(nats, io, server, timeout_ms, error);
        if (dial->options != NULL)
            return dial;
    }
    free(io);
    free(dial);
    return NULL;
}

static int fail_hung(struct nats *nats, const struct nats_hang *hang, struct error *error)
{
    char text[160];

    (void)snprintf(
        text, sizeof text,
        "an attempt to connect has hung for %lld s (in a name lookup%s); the next one follows when "
        "it has ended",
        (long long)(clock_now_ms() - hang->since_ms) / 1000,
        nats_tls_is_safe() ? "" : ", or at a server that fell silent");
    return nats_fail(nats, error, ERROR_TRANSIENT, text);
}

/* The configuration key of the login in use; NULL: there is none. */
static const char *login_key(const struct sink_options *options)
{
    return options->credentials_file != NULL ? "credentials_file"
           : options->nkey_file != NULL      ? "nkey_file"
           : options->token_file != NULL     ? "token_file"
           : options->token != NULL          ? "token"
           : options->password_file != NULL  ? "password_file"
           : options->password != NULL       ? "password"
           : options->username != NULL       ? "username"
                                             : NULL;
}

static bool says(const char *text, const char *part)
{
    return strcasestr(text, part) != NULL;
}

/* "its user JWT has expired at 2026-01-02T03:04:05Z; sign a new one"; false: it has not. */
static bool has_login_ended(const struct sink_options *options, char *out, size_t size)
{
    time_t expires = nats_login_expires(options);
    char when[40];

    if (expires <= 0 || expires > time(NULL))
        return false;
    (void)clock_utc(when, (int64_t)expires * 1000, false);
    (void)snprintf(out, size, "its user JWT has expired at %s; sign a new one", when);
    return true;
}

static bool is_login_refused(const struct dial *dial)
{
    return dial->status == NATS_CONNECTION_AUTH_FAILED || says(dial->text, "authorization") ||
           says(dial->text, "authentication") || says(dial->text, "seed");
}

/* The configuration key to change, or NULL when that is not known; *why: the reason, or "". `ended`
 * has room for one. */
static const char *key_to_change(const struct nats *nats, const struct dial *dial,
                                 char ended[NATS_TEXT_BYTES], const char **why)
{
    const struct sink_options *options = nats->base.options;
    bool asks_for_tls = is_secure(options, nats->address);

    *why = "";
    if (is_login_refused(dial)) {
        if (has_login_ended(options, ended, NATS_TEXT_BYTES))
            *why = ended;
        return login_key(options);
    }
    if (dial->status == NATS_SECURE_CONNECTION_WANTED) {
        *why = "the server offers no TLS";
        return "servers";
    }
    if (dial->status == NATS_SSL_ERROR && !nats_tls_is_safe()) {
        *why = TLS_WANTED;
        return "servers";
    }
    if (dial->status == NATS_SSL_ERROR && !asks_for_tls) {
        *why = "the server requires TLS; write tls://, and name its authority in tls_ca_file "
               "unless the system trusts it";
        return "servers";
    }
    if (dial->status == NATS_SSL_ERROR &&
        (says(dial->text, "expired") || says(dial->text, "mismatch"))) {
        *why = "the server's certificate has expired or is for another host";
        return "servers";
    }
    if (dial->status == NATS_SSL_ERROR && says(dial->text, "wrong version number")) {
        *why = "the server does not use TLS on that port, or accepts no more connections";
        return "servers";
    }
    if (dial->status == NATS_SSL_ERROR && !says(dial->text, "alert")) {
        *why = "it does not contain the authority that signed the server's certificate";
        return "tls_ca_file";
    }
    /* A server that rejects the client's certificate closes the connection after the handshake,
     * without an error. */
    if (nats->threaded && dial->status != NATS_TIMEOUT && dial->status != NATS_NO_SERVER) {
        *why = "the server may require a client certificate, or a different one";
        return "tls_cert_file";
    }
    return NULL;
}

static int fail_without_key(struct nats *nats, const struct dial *dial, struct error *error)
{
    const char *name = nats->base.options->name;
    bool silent = dial->status == NATS_NO_SERVER;

    (void)nats_fail(nats, error, kind_of(dial->status, dial->text),
                    silent ? "nothing answers (connection refused, or no such host)" : dial->text);
    if (silent)
        return error_hint(error, "start it (nats-server -js), or correct servers in [sink.%s]",
                          name);
    if (is_login_refused(dial))
        return error_hint(error,
                          "the server wants a login: set [sink.%s] username and password_file, or"
                          " token_file, credentials_file or nkey_file",
                          name);
    if (dial->status == NATS_TIMEOUT || dial->status == NATS_PROTOCOL_ERROR)
        return error_hint(error, "is this a NATS server? What is at that address does not"
                                 " answer like one; check the addresses in servers");
    return -1;
}

static int fail_to_connect(struct nats *nats, const struct dial *dial, struct error *error)
{
    const char *why;
    char ended[NATS_TEXT_BYTES];
    const char *key = key_to_change(nats, dial, ended, &why);
    const char *name = nats->base.options->name;
    char also[96] = "";
    char text[3 * NATS_TEXT_BYTES];

    if (dial->unreadable)
        return error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                         "[sink.%s] tls_ca_file, tls_cert_file or tls_key_file: %s", name,
                         dial->text);
    if (key == NULL)
        return fail_without_key(nats, dial, error);
    if (strncmp(key, "password", strlen("password")) == 0)
        (void)snprintf(also, sizeof also, " or [sink.%.64s] username", name);
    (void)snprintf(text, sizeof text, "%s; change [sink.%s] %s%s%s%s", dial->text, name, key,
                   why[0] != '\0' ? ": " : "", why, also);
    return nats_fail(nats, error, kind_of(dial->status, dial->text), text);
}

static int connect_to(struct nats *nats, int number, int timeout_ms, struct error *error)
{
    const char *server = nats->base.options->servers.items[number];
    struct nats_hang *hang = &nats->hangs[number];
    int64_t began_ms = clock_now_ms();
    enum bounded_result result;
    struct dial *dial;
    int status = -1;

    nats->address = server;
    nats->base.server = server;
    nats->threaded = nats->needs_tls || is_secure(nats->base.options, server);
    if (bounded_call_is_running(&hang->call)) {
        nats_end_stuck(server);
        return fail_hung(nats, hang, error);
    }
    dial = make_dial(nats, server, timeout_ms, error);
    if (dial == NULL)
        return -1;
    result = bounded_call_run(&hang->call, dial_work, dial_drop, dial,
                              began_ms + timeout_ms + DIAL_SLACK_MS);
    if (result == BOUNDED_LATE) {
        hang->since_ms = began_ms;
        nats_end_stuck(server);
        return fail_hung(nats, hang, error);
    }
    if (result != BOUNDED_DONE) {
        (void)error_no_memory(error);
    } else if (dial->status != NATS_OK) {
        (void)fail_to_connect(nats, dial, error);
    } else {
        nats->connection = dial->connection;
        free(nats->io);
        nats->io = dial->io;
        dial->io = NULL;
        dial->status = NATS_ERR; /* the dial no longer owns the connection */
        status = 0;
    }
    dial_drop(dial);
    return status;
}

static int connect_to_any(struct nats *nats, int64_t deadline_ms, struct error *error)
{
    const struct text_list *servers = &nats->base.options->servers;

    for (int untried = servers->count; untried > 0; untried--) {
        int number = (int)(nats->server++ % (unsigned)servers->count);
        int left_ms = clock_left_ms(deadline_ms);
        int timeout_ms = left_ms / untried;

        if (left_ms == 0)
            break;
        if (timeout_ms < SERVER_TIMEOUT_MS_MIN)
            timeout_ms = left_ms < SERVER_TIMEOUT_MS_MIN ? left_ms : SERVER_TIMEOUT_MS_MIN;
        if (connect_to(nats, number, timeout_ms, error) == 0)
            return 0;
    }
    return -1;
}

static natsStatus send_probe(struct nats *nats, int64_t deadline_ms)
{
    char subject[NATS_TEXT_BYTES];
    natsStatus status;

    (void)snprintf(subject, sizeof subject, "%sSTREAM.INFO.%s", nats->api,
                   nats->base.options->stream);
    nats_new_token(nats, nats->request_token);
    status = nats_question(nats, subject, "", nats->request_token);
    while (status == NATS_OK && nats->io->wants_write) {
        struct pollfd wait = {.fd = nats->io->socket, .events = POLLOUT};

        if (poll(&wait, 1, clock_left_ms(deadline_ms)) != 1)
            return NATS_TIMEOUT;
        natsConnection_ProcessWriteEvent(nats->connection);
    }
    return status;
}

/* Finds out whether the server requires TLS, by a request that every relay's user is permitted to
 * send. Only the first byte of the answer matters: text, or the type of a TLS record, which is a
 * control character. */
static natsStatus detect_tls(struct nats *nats, int64_t deadline_ms)
{
    natsStatus status = send_probe(nats, deadline_ms);
    struct pollfd wait = {.fd = nats->io->socket, .events = POLLIN};
    char first;

    if (status != NATS_OK || poll(&wait, 1, clock_left_ms(deadline_ms)) != 1 ||
        recv(nats->io->socket, &first, 1, MSG_PEEK | MSG_DONTWAIT) != 1)
        return status != NATS_OK ? status : NATS_TIMEOUT;
    nats->needs_tls = first < ' ';
    return nats->needs_tls ? NATS_SECURE_CONNECTION_REQUIRED : NATS_OK;
}

static int open_connection(struct nats *nats, int64_t deadline_ms, struct error *error)
{
    natsStatus status;
    char text[192];

    if (connect_to_any(nats, deadline_ms, error) < 0)
        return -1;
    if (natsConnection_HasHeaderSupport(nats->connection) != NATS_OK) {
        nats_disconnect(nats);
        (void)nats_fail(nats, error, ERROR_PERMANENT,
                        "the server takes no headers, and JetStream tells repeats by one");
        return error_hint(error, "remove no_header_support from the server's configuration");
    }
    nats_problems_watch(nats->problems, nats->connection);
    status = nats_open_inbox(nats);
    if (status == NATS_OK && !nats->threaded)
        status = detect_tls(nats, nats->ready_deadline_ms);
    if (status == NATS_OK)
        return 0;
    nats_disconnect(nats);
    if (!nats->needs_tls || nats_tls_is_safe())
        return nats_fail(nats, error, ERROR_TRANSIENT, natsStatus_GetText(status));
    (void)snprintf(text, sizeof text, "[sink.%s] servers: " TLS_WANTED, nats->base.options->name);
    (void)nats_fail(nats, error, ERROR_PERMANENT, text);
    return error_hint(error, TLS_HINT);
}

/* A server may require TLS although the URL does not ask for it, and the library then silently uses
 * TLS. In that case (detect_tls) there is a second attempt, whose connection the library's threads
 * serve. Both share the connect timeout; if too little is left for the second one, the next
 * nats_connect() begins with it. */
int nats_connect(struct nats *nats, struct error *error)
{
    int connect_timeout_ms = broker_connect_timeout_ms(&nats->base);
    int64_t deadline_ms = clock_now_ms() + connect_timeout_ms;
    bool had_needed_tls = nats->needs_tls;
    bool detected;
    int status;

    nats->ready_deadline_ms =
        deadline_ms + (connect_timeout_ms < ANSWERS_MS ? connect_timeout_ms : ANSWERS_MS);
    if (nats->connection != NULL)
        nats_serve_idle(nats);
    if (!nats_lost(nats) && !nats->max_payload_is_stale)
        return 0;
    nats_disconnect(nats);
    status = open_connection(nats, deadline_ms, error);
    detected = nats->needs_tls && !had_needed_tls && nats_tls_is_safe();
    if (status < 0 && detected)
        status = open_connection(nats, deadline_ms, error);
    if (status < 0) {
        nats->needs_tls = detected;
        return -1;
    }
    nats->message_bytes_max = natsConnection_GetMaxPayload(nats->connection);
    nats->max_payload_read_at_ms = clock_now_ms();
    nats->max_payload_is_stale = false;
    nats->stream_found = false;
    nats->highest_sequence = 0;
    nats->warned = false;
    nats->fetch_disabled = false;
    nats->fetch_forbidden = false;
    return 0;
}

/* The inbox is closed after the connection: on an open one the library would send an UNSUB. */
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
    nats->io->wants_write = false;
    nats->io->socket = -1;
}
