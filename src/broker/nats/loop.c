/*
 * Reads from and writes to the connection on the lane's own thread.
 *
 * nats.c's own threads (a reader, a flusher and a delivery thread) hand every message from one to
 * the next, which costs more than processing it. The library's event loop interface leaves
 * the socket to us: the lane polls it while it publishes and while it waits, and no other thread
 * touches it. This needs three options: no flusher (SendAsap); no pings, whose timer would be
 * another thread that may close the socket; and no reconnect. A server that does not respond is
 * noticed by the deadline of a request; one that disappears while the lane is idle, by TCP
 * keepalive.
 *
 * Each request has its own reply subject, made of the inbox, a number used only once, and a random
 * token. So a surplus or late answer matches no request. Acknowledgements are ordinary messages
 * that anyone with permission to publish to the inbox could forge. Because of the token, someone
 * who knows one reply subject cannot guess the next.
 *
 * Deliberately not done: TLS without the library's threads. The library waits for the rest of a TLS
 * record without a deadline, so TLS connections are left to its own threads.
 */

#include "broker/nats/nats.h"

#include "base/clock.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define DISCARDED_BYTES_MAX (64 * 1024)
#define READS_MAX 8 /* consecutive reads, of 32 KiB each */
#define STEP_MS 50  /* how long to wait at a time when nats_problems_signal cannot end the wait */
#define KEEPALIVE_IDLE_S 5
#define KEEPALIVE_INTERVAL_S 5
#define KEEPALIVE_PROBES 2

/* Detects the loss of an idle connection within 15 s. If it cannot be set, the next batch
 * notices. */
static void set_keepalive(int socket)
{
    const int yes = 1;
    const int idle_s = KEEPALIVE_IDLE_S;
    const int interval_s = KEEPALIVE_INTERVAL_S;
    const int probes = KEEPALIVE_PROBES;

    (void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    (void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    (void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    (void)setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
}

static natsStatus on_attach(void **user, void *loop, natsConnection *connection, natsSock socket)
{
    struct nats_io *io = loop;

    io->connection = connection;
    io->socket = socket;
    set_keepalive(socket);
    *user = io;
    return NATS_OK;
}

/* The library starts reading once, and stops when the connection closes. From version 3.10 on we
 * must then close the socket. */
static natsStatus on_read(void *user, bool add)
{
    struct nats_io *io = user;

    if (add)
        return NATS_OK;
#if NATS_VERSION_NUMBER >= 0x030A00
    natsConnection_ProcessCloseEvent(&io->socket);
#endif
    io->socket = -1;
    return NATS_OK;
}

static natsStatus on_write(void *user, bool add)
{
    ((struct nats_io *)user)->wants_write = add;
    return NATS_OK;
}

/* From version 3.12 on the library keeps the connection in memory until this call. */
static natsStatus on_detach(void *user)
{
#if NATS_VERSION_NUMBER >= 0x030C00
    natsConnection_ProcessDetachedEvent(((struct nats_io *)user)->connection);
#else
    (void)user;
#endif
    return NATS_OK;
}

natsStatus nats_set_loop(natsOptions *library, struct nats_io *io)
{
    natsStatus status = natsOptions_SetSendAsap(library, true);

    if (status == NATS_OK)
        status = natsOptions_SetPingInterval(library, 0);
    if (status == NATS_OK)
        status = natsOptions_SetEventLoop(library, io, on_attach, on_read, on_write, on_detach);
    return status;
}

/* The library frees messages on a thread of its own. Waking that thread for every single message
 * costs more than everything else, so messages are freed many at a time. */
void nats_free_discarded(struct nats *nats)
{
    for (int i = 0; i < nats->discarded_count; i++)
        natsMsg_Destroy(nats->discarded[i]);
    nats->discarded_count = 0;
    nats->discarded_bytes = 0;
}

void nats_discard(struct nats *nats, natsMsg *message)
{
    nats->discarded[nats->discarded_count++] = message;
    nats->discarded_bytes += natsMsg_GetDataLength(message);
    if (nats->discarded_count == NATS_DISCARDED_MAX || nats->discarded_bytes > DISCARDED_BYTES_MAX)
        nats_free_discarded(nats);
}

bool nats_lost(const struct nats *nats)
{
    return nats->connection == NULL || natsConnection_IsClosed(nats->connection);
}

const char *nats_inbox_prefix(const struct nats *nats)
{
    const char *prefix = nats->base.options->inbox_prefix;

    return prefix != NULL ? prefix : NATS_INBOX_PREFIX;
}

void nats_new_token(struct nats *nats, char token[NATS_TOKEN_BYTES])
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_~";

    if (nats->random_left < NATS_TOKEN_BYTES) {
        arc4random_buf(nats->random, sizeof nats->random);
        nats->random_left = (int)sizeof nats->random;
    }
    nats->random_left -= NATS_TOKEN_BYTES;
    for (int i = 0; i < NATS_TOKEN_BYTES; i++)
        token[i] = digits[nats->random[nats->random_left + i] & 63];
}

/* The library's own inbox names are numbered, so that one reveals the next. This one is random. */
natsStatus nats_open_inbox(struct nats *nats)
{
    char subjects[NATS_REPLY_BYTES];
    char token[NATS_TOKEN_BYTES];
    natsStatus status;

    nats_new_token(nats, token);
    (void)snprintf(nats->inbox_name, sizeof nats->inbox_name, "%s.%.*s", nats_inbox_prefix(nats),
                   NATS_TOKEN_BYTES, token);
    (void)snprintf(subjects, sizeof subjects, "%s.*", nats->inbox_name);
    status = natsConnection_SubscribeSync(&nats->inbox, nats->connection, subjects);
    return status == NATS_OK ? natsSubscription_SetPendingLimits(nats->inbox, -1, -1) : status;
}

void nats_close_inbox(struct nats *nats)
{
    for (; nats->received_taken < nats->received_count; nats->received_taken++)
        natsMsg_Destroy(nats->received[nats->received_taken]);
    nats->received_count = 0;
    nats->received_taken = 0;
    natsSubscription_Destroy(nats->inbox);
    nats->inbox = NULL;
}

/* Builds "INBOX.NUMBER-TOKEN". snprintf would be too slow, since every message needs a reply
 * subject. */
void nats_reply_subject(const struct nats *nats, uint64_t number, const char *token,
                        char reply[NATS_REPLY_BYTES])
{
    size_t len = strlen(nats->inbox_name);
    char digits[20];
    int count = 0;

    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    memcpy(reply, nats->inbox_name, len);
    reply[len++] = '.';
    while (count > 0)
        reply[len++] = digits[--count];
    reply[len++] = '-';
    memcpy(reply + len, token, NATS_TOKEN_BYTES);
    reply[len + NATS_TOKEN_BYTES] = '\0';
}

bool nats_read_reply(const struct nats *nats, const natsMsg *answer, uint64_t *number,
                     const char **token)
{
    const char *at = natsMsg_GetSubject(answer);
    size_t len = strlen(nats->inbox_name);

    if (strncmp(at, nats->inbox_name, len) != 0 || at[len] != '.')
        return false;
    *number = 0;
    for (at += len + 1; *at >= '0' && *at <= '9'; at++)
        *number = *number * 10 + (uint64_t)(*at - '0');
    *token = at + 1;
    return *at == '-' && strlen(*token) == NATS_TOKEN_BYTES;
}

/* The next answer, or NULL when none arrives in time. Counts "no responders" replies and skips
 * them. */
static natsMsg *take_next(struct nats *nats, int64_t timeout_ms)
{
    natsMsg *answer = NULL;
    natsStatus status = natsSubscription_NextMsg(&answer, nats->inbox, timeout_ms);

    while (status == NATS_NO_RESPONDERS) {
        nats->no_responders++;
        status = natsSubscription_NextMsg(&answer, nats->inbox, 0);
    }
    return status == NATS_OK ? answer : NULL;
}

void nats_heard(struct nats *nats)
{
    nats->heard_at_ms = clock_now_ms();
}

/* Takes all messages that the library has read, at once, because the library does not hand them out
 * any more after it has found the connection closed. */
static void take_read(struct nats *nats)
{
    uint64_t queued = 0;

    if (natsSubscription_QueuedMsgs(nats->inbox, &queued) != NATS_OK || queued == 0 ||
        queued > INT32_MAX / 2 ||
        broker_reserve(&nats->received, &nats->received_capacity,
                       nats->received_count + (int)queued, sizeof(*nats->received)) < 0)
        return;
    nats_heard(nats);
    for (; queued > 0; queued--) {
        natsMsg *answer = take_next(nats, 0);

        if (answer != NULL)
            nats->received[nats->received_count++] = answer;
    }
}

/* Waits until the socket is ready, then reads and writes. Reads first, because a failing write
 * closes the connection and loses unread bytes. Returns whether the server has sent anything or has
 * closed the connection. */
static bool exchange(struct nats *nats, struct pollfd *waits, nfds_t count, bool writes,
                     int timeout_ms)
{
    bool reads;

    if (nats->io->socket < 0)
        return false;
    waits[0].events = writes && nats->io->wants_write ? POLLIN | POLLOUT : POLLIN;
    if (poll(waits, count, timeout_ms) <= 0)
        return false;
    reads = waits[0].revents & (POLLIN | POLLERR | POLLHUP);
    if (reads) {
        natsConnection_ProcessReadEvent(nats->connection);
        take_read(nats);
    }
    if (waits[0].revents & POLLOUT && nats->io->wants_write && !nats_lost(nats))
        natsConnection_ProcessWriteEvent(nats->connection);
    return reads;
}

/* Returns early when a problem is signalled. With a timeout of 0 nothing is written: the deadline
 * may have passed, and a message stored after it would count as not stored. */
static bool await_read(struct nats *nats, int timeout_ms)
{
    struct pollfd waits[2] = {{.fd = nats->io->socket},
                              {.fd = nats_problems_signal(nats->problems), .events = POLLIN}};

    return exchange(nats, waits, 2, timeout_ms > 0, timeout_ms);
}

/* Reads too, which the result is about. */
static bool await_write(struct nats *nats, int timeout_ms)
{
    struct pollfd wait = {.fd = nats->io->socket};

    return exchange(nats, &wait, 1, true, timeout_ms);
}

/* Reads all that has arrived while the lane was idle: pings, or the end of the connection after the
 * server's last messages. */
void nats_serve_idle(struct nats *nats)
{
    int reads = 0;

    while (!nats->threaded && reads++ < READS_MAX && await_write(nats, 0))
        ;
    if (nats->io->wants_write)
        (void)await_write(nats, 0);
}

/* Without the shutdown, closing the connection would wait half a second for a stuck server to take
 * the unwritten bytes. The reads let the library notice the end of the connection, which comes
 * after acknowledgements that nobody awaits any more. */
void nats_hang_up(struct nats *nats)
{
    if (nats->threaded || nats->io->socket < 0)
        return;
    (void)shutdown(nats->io->socket, SHUT_RDWR);
    for (int reads = 0; reads < READS_MAX && !nats_lost(nats); reads++)
        natsConnection_ProcessReadEvent(nats->connection);
}

void nats_write_some(struct nats *nats, int64_t deadline_ms)
{
    if (nats->io->wants_write && clock_left_ms(deadline_ms) > 0)
        (void)await_write(nats, 0);
}

void nats_flush(struct nats *nats, int64_t deadline_ms)
{
    int left_ms = clock_left_ms(deadline_ms);

    if (nats->threaded && left_ms > 0)
        (void)natsConnection_FlushTimeout(nats->connection, left_ms);
    while (nats->io->wants_write && nats->io->socket >= 0 && left_ms > 0) {
        (void)await_write(nats, left_ms);
        left_ms = clock_left_ms(deadline_ms);
    }
}

/* A read may end in the middle of an answer, so this reads on, also after the deadline. It waits
 * only for the first read. */
static void read_some(struct nats *nats, int timeout_ms)
{
    for (int reads = 0; reads < READS_MAX && await_read(nats, timeout_ms); reads++) {
        if (nats->received_count > 0)
            break;
        timeout_ms = 0;
    }
}

static natsMsg *take_and_note(struct nats *nats, int64_t timeout_ms)
{
    natsMsg *answer = take_next(nats, timeout_ms);

    if (answer != NULL)
        nats_heard(nats);
    return answer;
}

natsMsg *nats_next(struct nats *nats, int64_t deadline_ms)
{
    bool in_steps = nats->threaded || nats_problems_signal(nats->problems) < 0;
    int left_ms = clock_left_ms(deadline_ms);

    if (in_steps && left_ms > STEP_MS)
        left_ms = STEP_MS;
    if (nats->threaded)
        return take_and_note(nats, left_ms);
    if (nats->received_taken == nats->received_count) {
        nats->received_taken = 0;
        nats->received_count = 0;
        read_some(nats, left_ms);
    }
    if (nats->received_taken == nats->received_count)
        return NULL;
    return nats->received[nats->received_taken++];
}

static natsStatus await_answer(struct nats *nats, const char *subject, uint64_t number,
                               int64_t deadline_ms, natsMsg **answer)
{
    char quoted[NATS_TEXT_BYTES];
    uint64_t answered;
    const char *token;

    for (;;) {
        *answer = nats_next(nats, deadline_ms);
        if (*answer != NULL && nats_read_reply(nats, *answer, &answered, &token) &&
            answered == number && memcmp(token, nats->request_token, NATS_TOKEN_BYTES) == 0)
            return NATS_OK;
        if (*answer != NULL) {
            nats_discard(nats, *answer);
            continue;
        }
        if (nats->no_responders > 0)
            return NATS_NO_RESPONDERS;
        while (nats_problems_next(nats->problems, quoted))
            if (nats_is_quoted(quoted, text_of(subject)))
                return NATS_NOT_PERMITTED;
        if (nats_lost(nats))
            return NATS_CONNECTION_CLOSED;
        if (clock_left_ms(deadline_ms) == 0)
            return NATS_TIMEOUT;
    }
}

natsStatus nats_question(struct nats *nats, const char *subject, const char *text,
                         const char *token)
{
    char reply[NATS_REPLY_BYTES];

    nats_reply_subject(nats, nats->next_request++, token, reply);
    return natsConnection_PublishRequestString(nats->connection, subject, reply, text);
}

natsStatus nats_ask(struct nats *nats, const char *subject, const char *text, int64_t deadline_ms,
                    natsMsg **answer)
{
    uint64_t number = nats->next_request;
    natsStatus status;

    *answer = NULL;
    nats_new_token(nats, nats->request_token);
    status = nats_question(nats, subject, text, nats->request_token);
    if (status != NATS_OK)
        return status;
    nats->no_responders = 0;
    nats_flush(nats, deadline_ms);
    status = await_answer(nats, subject, number, deadline_ms, answer);
    if (status != NATS_OK)
        *answer = NULL;
    return status;
}
