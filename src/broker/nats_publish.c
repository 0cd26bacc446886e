/*
 * send and await: check every byte, build all messages, expect them, publish them, wait.
 *
 * The messages are built before the first is published, because the table of acknowledgements is
 * filled in one go. The library copies subject, headers and payload: nothing of the batch is in its
 * hands. A publish that the connection refuses ends the batch: the rest would be refused too. So
 * does the deadline: a server that reads slowly costs no more than publish_timeout and one write.
 */

#include "broker/nats.h"

#include "base/clock.h"
#include "core/order.h"
#include "core/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES_MAX (64 * 1024 - 1) /* JetStream's limit */
#define HEADER_LINE_BYTES 4              /* ": " and a line end */
#define OWN_HEADERS 6

struct own_header {
    const char *name;
    struct text value;
};

/* The relay's own, and two for the server: by which id it drops repeats, and which stream must
 * answer. A NULL makes no header. */
static void own_headers_of(const struct nats *nats, const struct message *message,
                           struct own_header own[OWN_HEADERS])
{
    own[0] = (struct own_header){"id", message->event_id};
    own[1] = (struct own_header){"type", message->type};
    own[2] = (struct own_header){"created_at", message->created_at};
    own[3] = (struct own_header){"key", message->route_key};
    own[4] = (struct own_header){"Nats-Msg-Id", message->event_id};
    own[5] = (struct own_header){"Nats-Expected-Stream", text_of(nats->base.options->stream)};
}

static size_t header_bytes_of(const struct message *message,
                              const struct own_header own[OWN_HEADERS])
{
    size_t bytes = NATS_HEADER_FRAME_BYTES;

    for (int i = 0; i < OWN_HEADERS; i++)
        if (own[i].value.data != NULL)
            bytes += strlen(own[i].name) + HEADER_LINE_BYTES + own[i].value.len;
    for (int i = 0; i < message->header_count; i++)
        bytes += message->headers[i].name.len + HEADER_LINE_BYTES + message->headers[i].value.len;
    return bytes;
}

static void reject(struct batch *batch, struct message *message, const char *why)
{
    batch_refuse(batch, message, VERDICT_REJECTED, "%s", why);
}

static void check_size(const struct nats *nats, struct batch *batch, struct message *message,
                       const struct own_header own[OWN_HEADERS])
{
    size_t header_bytes = header_bytes_of(message, own);
    int64_t payload_bytes = message->payload_len > 0 ? message->payload_len : 0;

    if (header_bytes > HEADER_BYTES_MAX)
        reject(batch, message, "headers (the key is one) larger than 64 KiB");
    else if ((int64_t)header_bytes + payload_bytes > nats->message_bytes_max)
        batch_refuse(batch, message, VERDICT_REJECTED,
                     "payload %lld bytes, with %zu of headers, is larger than max_payload %lld",
                     (long long)payload_bytes, header_bytes, (long long)nats->message_bytes_max);
    else if (message->payload.data == NULL && message->payload_len >= 0)
        batch_refuse(batch, message, VERDICT_REJECTED,
                     "payload %lld bytes is too large to be fetched", (long long)payload_bytes);
}

/* Of the headers that the row does not name itself. An empty event_id would be no Nats-Msg-Id. */
static void check_own_headers(struct batch *batch, struct message *message,
                              const struct own_header own[OWN_HEADERS])
{
    for (int i = 0; i < OWN_HEADERS; i++) {
        const char *broken = rules_nats_header_value(own[i].value);

        if (broken == NULL)
            continue;
        batch_refuse(batch, message, VERDICT_REJECTED, "%s: %s", own[i].name, broken);
        return;
    }
    if (message->event_id.data != NULL && message->event_id.len == 0)
        reject(batch, message, "the event id is empty");
}

static void check_message(const struct nats *nats, struct batch *batch, struct message *message)
{
    const char *broken = rules_nats_subject(message->destination);
    struct own_header own[OWN_HEADERS];

    if (broken == NULL && !sink_allows(nats->base.options, message->destination))
        broken = "the sink's allow list does not take this subject";
    if (broken == NULL)
        broken = rules_nats_headers(message->headers, message->header_count);
    if (broken != NULL) {
        reject(batch, message, broken);
        return;
    }
    own_headers_of(nats, message, own);
    check_own_headers(batch, message, own);
    if (message->verdict == VERDICT_PENDING)
        check_size(nats, batch, message, own);
}

static natsStatus set_header(struct batch *batch, natsMsg *built, struct text name,
                             struct text value)
{
    struct text name_copy;
    struct text value_copy;

    if (value.data == NULL)
        return NATS_OK;
    name_copy = batch_copy(batch, name.data, name.len);
    value_copy = batch_copy(batch, value.data, value.len);
    if (name_copy.data == NULL || value_copy.data == NULL)
        return NATS_NO_MEMORY;
    return natsMsgHeader_Set(built, name_copy.data, value_copy.data);
}

static natsStatus set_headers(const struct nats *nats, struct batch *batch, natsMsg *built,
                              const struct message *message)
{
    struct own_header own[OWN_HEADERS];
    natsStatus status = NATS_OK;

    own_headers_of(nats, message, own);
    for (int i = 0; status == NATS_OK && i < OWN_HEADERS; i++)
        status = set_header(batch, built, text_of(own[i].name), own[i].value);
    for (int i = 0; status == NATS_OK && i < message->header_count; i++)
        status = set_header(batch, built, message->headers[i].name, message->headers[i].value);
    return status;
}

natsMsg *nats_build(const struct nats *nats, struct batch *batch, const struct message *message)
{
    struct text subject = batch_copy(batch, message->destination.data, message->destination.len);
    natsMsg *built = NULL;

    if (subject.data == NULL)
        return NULL;
    if (natsMsg_Create(&built, subject.data, NULL, message->payload.data,
                       (int)message->payload.len) != NATS_OK)
        return NULL;
    if (set_headers(nats, batch, built, message) == NATS_OK)
        return built;
    natsMsg_Destroy(built);
    return NULL;
}

static int reserve_built(struct nats *nats, int count)
{
    natsMsg **grown;

    if (nats->built_capacity >= count)
        return 0;
    grown = realloc(nats->built, (size_t)count * sizeof(*grown));
    if (grown == NULL)
        return -1;
    nats->built = grown;
    nats->built_capacity = count;
    return 0;
}

static void build_messages(struct nats *nats, struct batch *batch, int sink)
{
    for (int i = 0; i < batch->count; i++) {
        struct message *message = &batch->messages[i];

        nats->built[i] = NULL;
        if (!order_is_due(batch, message, sink))
            continue;
        check_message(nats, batch, message);
        if (message->verdict != VERDICT_PENDING)
            continue;
        nats->built[i] = nats_build(nats, batch, message);
        nats->unsent += nats->built[i] == NULL;
    }
}

static void destroy_built(struct nats *nats, int count)
{
    for (int i = 0; i < count; i++) {
        nats->unsent += nats->built[i] != NULL;
        natsMsg_Destroy(nats->built[i]);
    }
}

/* Without MaxWait: it keeps an entry a message until its time is over, which grew with the rate to
 * tens of MiB and took half of the CPU. A lost acknowledgement is bounded by await's deadline,
 * after which the context is destroyed and whatever it holds with it. */
static natsStatus publish(struct nats *nats, natsMsg *built)
{
    return js_PublishMsgAsync(nats->context, &built, NULL);
}

/* Refused by the library: by the message's own fault, or because the connection is gone. */
static bool conclude_refused(struct nats *nats, int place, natsStatus status)
{
    nats_acks_refuse(nats->acks, place, status);
    natsMsg_Destroy(nats->built[place]);
    return nats_verdict_of(status, 0) == VERDICT_REJECTED;
}

static void publish_messages(struct nats *nats, int count, int64_t deadline_ms)
{
    bool goes_on = nats->connection != NULL;

    for (int i = 0; i < count; i++) {
        natsStatus status = NATS_CONNECTION_CLOSED;

        if (nats->built[i] == NULL)
            continue;
        goes_on = goes_on && clock_left_ms(deadline_ms) > 0;
        if (goes_on)
            status = publish(nats, nats->built[i]);
        nats->unflushed = nats->unflushed || status == NATS_OK;
        if (status != NATS_OK)
            goes_on = conclude_refused(nats, i, status) && goes_on;
    }
}

void nats_send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms)
{
    struct nats *nats = (struct nats *)broker;

    nats->unsent = 0;
    nats->unflushed = false;
    if (reserve_built(nats, batch->count) < 0) {
        nats->unsent = batch->count;
        return;
    }
    build_messages(nats, batch, sink);
    if (nats_acks_expect(nats->acks, nats->built, batch->count, nats->base.options->stream) < 0)
        destroy_built(nats, batch->count);
    else
        publish_messages(nats, batch->count, deadline_ms);
}

/* What was forbidden got no reply. Without MaxWait the library would keep it for the life of the
 * connection: a row that waits for its permission would leave a copy there at each try. */
static void drop_forbidden(const struct nats *nats)
{
    const struct nats_acks *acks = nats->acks;
    natsMsgList unreplied;

    for (int i = 0; i < acks->count; i++)
        if (acks->answers[i].state == NATS_REFUSED &&
            acks->answers[i].status == NATS_NOT_PERMITTED) {
            if (js_PublishAsyncGetPendingList(&unreplied, nats->context) == NATS_OK)
                natsMsgList_Destroy(&unreplied);
            return;
        }
}

/* The library's own thread writes a small buffer a millisecond late, which a key whose messages
 * wait for each other pays each time: 990 messages a second instead of 8,000. Waiting for the
 * server's word on it costs nothing beside the acknowledgements, which come later. */
static void flush(struct nats *nats, int64_t deadline_ms)
{
    int left_ms = clock_left_ms(deadline_ms);

    if (nats->unflushed && left_ms > 0)
        (void)natsConnection_FlushTimeout(nats->connection, left_ms);
    nats->unflushed = false;
}

int nats_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
               struct error *error)
{
    struct nats *nats = (struct nats *)broker;
    int unanswered;
    bool lost;
    char text[96];

    (void)sink;
    flush(nats, deadline_ms);
    unanswered = nats_acks_await(nats->acks, batch, deadline_ms) + nats->unsent;
    unanswered += nats_compare_duplicates(nats, batch, deadline_ms);
    if (unanswered == 0)
        drop_forbidden(nats);
    (void)nats_acks_expect(nats->acks, NULL, 0, nats->base.options->stream); /* nobody, from here */
    if (unanswered == 0)
        return 0;
    lost = nats_acks_lost(nats->acks);
    nats_disconnect(nats);
    (void)snprintf(text, sizeof text, "%d messages were not acknowledged (%s)", unanswered,
                   lost ? "connection lost" : "no answer in time");
    return nats_fail(nats, error, ERROR_TRANSIENT, text);
}
