/*
 * Relays that break a promise, so that the audit can be proven to notice. Linked with
 * the relay's own objects into build/mutant; the linker's --wrap puts these functions before the
 * relay's or the client library's. OUTBOX_MUTANT chooses one; without it the relay is sound.
 *
 *   M1   marks rows sent without waiting for an acknowledgement
 *   M2   takes a timeout for an acknowledgement
 *   M3   drops one message in 10,000
 *   M4   commits the claim before it publishes
 *   M6   swaps two messages of a key
 *   M8   sends one message of a batch twice
 *   M9   changes one byte of a message in 1,000
 *   M10  leaves the reconnect to nats.c
 *   M11  goes on with a key whose row has failed
 *   M13  deduplicates by the row's number
 *   M14  sends a row before its time
 *   M16  goes on with a key whose row is not due
 *   M18  takes any answer to an atomic batch for an acknowledgement
 *   M20  never returns to a broker that it has lost
 *
 * The others need no other program (tests/chaos/mutants).
 */

#include "broker/broker.h"
#include "broker/nats/nats.h"
#include "message/order.h"
#include "source/outbox.h"

#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DROP_EVERY 10000
#define CORRUPT_EVERY 1000

/* What --wrap calls them. */
void real_send(struct broker *broker, struct batch *batch, int sink,
               int64_t deadline_ms) __asm__("__real_broker_send");
void wrap_send(struct broker *broker, struct batch *batch, int sink,
               int64_t deadline_ms) __asm__("__wrap_broker_send");
int real_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
               struct error *error) __asm__("__real_broker_await");
int wrap_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
               struct error *error) __asm__("__wrap_broker_await");
int real_ready(struct broker *broker, struct error *error) __asm__("__real_broker_ready");
int wrap_ready(struct broker *broker, struct error *error) __asm__("__wrap_broker_ready");
int real_claim(struct outbox *outbox, struct batch *batch, const struct claim_request *claim,
               struct error *error) __asm__("__real_outbox_claim");
int wrap_claim(struct outbox *outbox, struct batch *batch, const struct claim_request *claim,
               struct error *error) __asm__("__wrap_outbox_claim");
int real_settle(struct outbox *outbox, struct batch *batch, const struct claim_request *next,
                struct error *error) __asm__("__real_outbox_settle");
int wrap_settle(struct outbox *outbox, struct batch *batch, const struct claim_request *next,
                struct error *error) __asm__("__wrap_outbox_settle");
bool real_due(const struct batch *batch, const struct message *message,
              int sink) __asm__("__real_order_is_due");
bool wrap_due(const struct batch *batch, const struct message *message,
              int sink) __asm__("__wrap_order_is_due");
bool real_held(const struct batch *batch,
               const struct message *message) __asm__("__real_order_is_held");
bool wrap_held(const struct batch *batch,
               const struct message *message) __asm__("__wrap_order_is_held");
natsStatus real_reconnect(natsOptions *options,
                          bool allow) __asm__("__real_natsOptions_SetAllowReconnect");
natsStatus wrap_reconnect(natsOptions *options,
                          bool allow) __asm__("__wrap_natsOptions_SetAllowReconnect");
natsStatus real_header(natsMsg *message, const char *name,
                       const char *value) __asm__("__real_natsMsgHeader_Set");
natsStatus wrap_header(natsMsg *message, const char *name,
                       const char *value) __asm__("__wrap_natsMsgHeader_Set");
void real_headers(struct header own[NATS_OWN_HEADERS], const char *id, int number, bool is_last,
                  char digits[12]) __asm__("__real_nats_batch_headers");
void wrap_headers(struct header own[NATS_OWN_HEADERS], const char *id, int number, bool is_last,
                  char digits[12]) __asm__("__wrap_nats_batch_headers");
struct nats_answer real_ack(const char *data, size_t len,
                            const char *stream) __asm__("__real_nats_read_ack");
struct nats_answer wrap_ack(const char *data, size_t len,
                            const char *stream) __asm__("__wrap_nats_read_ack");
bool real_block(void) __asm__("__real_nats_one_call_works");
bool wrap_block(void) __asm__("__wrap_nats_one_call_works");

/* The assembler's names hide a changed signature from the compiler; these do not. */
_Static_assert(_Generic(&broker_send, __typeof__(&real_send) : 1, default : 0), "broker_send");
_Static_assert(_Generic(&broker_await, __typeof__(&real_await) : 1, default : 0), "broker_await");
_Static_assert(_Generic(&broker_ready, __typeof__(&real_ready) : 1, default : 0), "broker_ready");
_Static_assert(_Generic(&outbox_claim, __typeof__(&real_claim) : 1, default : 0), "outbox_claim");
_Static_assert(_Generic(&outbox_settle, __typeof__(&real_settle) : 1, default : 0),
               "outbox_settle");
_Static_assert(_Generic(&order_is_due, __typeof__(&real_due) : 1, default : 0), "order_is_due");
_Static_assert(_Generic(&nats_batch_headers, __typeof__(&real_headers) : 1, default : 0),
               "nats_batch_headers");
_Static_assert(_Generic(&nats_read_ack, __typeof__(&real_ack) : 1, default : 0), "nats_read_ack");
_Static_assert(_Generic(&order_is_held, __typeof__(&real_held) : 1, default : 0), "order_is_held");

static _Thread_local const struct batch *current;
static _Thread_local long seen;
static _Thread_local char chunk_id[NATS_TOKEN_BYTES + 1]; /* of the last atomic batch */
static _Thread_local int chunk_count;
static _Thread_local bool has_lost_it;

static bool is(const char *mutant)
{
    const char *chosen = getenv("OUTBOX_MUTANT");

    return chosen != NULL && strcmp(chosen, mutant) == 0;
}

static bool is_pending(const struct message *message, int sink)
{
    return message->verdict == VERDICT_PENDING && message->sink == sink;
}

static void call_sent(struct batch *batch, int sink)
{
    for (int i = 0; i < batch->count; i++)
        if (is_pending(&batch->messages[i], sink))
            batch->messages[i].verdict = VERDICT_SENT;
}

static void corrupt(struct batch *batch, struct message *message)
{
    struct text copy = batch_copy(batch, message->payload.data, message->payload.len);
    char *pad = copy.data != NULL ? strstr((char *)copy.data, "\"nonce\": ") : NULL;

    if (pad == NULL)
        return;
    pad[1] = 'm';
    message->payload = copy;
}

static bool same_key(const struct message *a, const struct message *b)
{
    return a->route_key.len == b->route_key.len &&
           memcmp(a->route_key.data, b->route_key.data, a->route_key.len) == 0;
}

/* The rows; the places that they have in the order of their key stay as they are. */
static void swap_rows(struct message *a, struct message *b)
{
    struct message kept = *a;

    memcpy(a->row, b->row, sizeof a->row);
    memcpy(b->row, kept.row, sizeof b->row);
    a->id = b->id, b->id = kept.id;
    a->event_id = b->event_id, b->event_id = kept.event_id;
    a->type = b->type, b->type = kept.type;
    a->payload = b->payload, b->payload = kept.payload;
    a->payload_len = b->payload_len, b->payload_len = kept.payload_len;
    a->created_at = b->created_at, b->created_at = kept.created_at;
    a->headers = b->headers, b->headers = kept.headers;
    a->header_count = b->header_count, b->header_count = kept.header_count;
}

/* The first pending message and the next of its key. */
static void swap_two(struct batch *batch, int sink)
{
    struct message *first = &batch->messages[0];

    for (int i = 1; i < batch->count; i++) {
        struct message *second = &batch->messages[i];

        if (!is_pending(first, sink) || !is_pending(second, sink) || !same_key(first, second))
            continue;
        swap_rows(first, second);
        return;
    }
}

void wrap_send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms)
{
    for (int i = 0; i < batch->count; i++) {
        struct message *message = &batch->messages[i];

        if (!is_pending(message, sink))
            continue;
        seen++;
        if (is("M3") && seen % DROP_EVERY == 0)
            message->verdict = VERDICT_SENT;
        if (is("M9") && seen % CORRUPT_EVERY == 0)
            corrupt(batch, message);
    }
    if (is("M6"))
        swap_two(batch, sink);
    current = batch;
    real_send(broker, batch, sink, deadline_ms);
}

static int send_again(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
                      struct error *error)
{
    if (batch->messages[0].verdict != VERDICT_SENT || batch->messages[0].sink != sink)
        return 0;
    batch->messages[0].verdict = VERDICT_PENDING;
    real_send(broker, batch, sink, deadline_ms);
    return real_await(broker, batch, sink, deadline_ms, error);
}

int wrap_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
               struct error *error)
{
    int status = is("M1") ? 0 : real_await(broker, batch, sink, deadline_ms, error);

    if (is("M1") || is("M2")) {
        call_sent(batch, sink);
        return 0;
    }
    has_lost_it = has_lost_it || (is("M20") && status < 0);
    if (is("M8") && status == 0)
        return send_again(broker, batch, sink, deadline_ms, error);
    return status;
}

int wrap_ready(struct broker *broker, struct error *error)
{
    return has_lost_it ? error_set(error, ERROR_TRANSIENT, ERROR_BROKER, "mutant M20")
                       : real_ready(broker, error);
}

int wrap_claim(struct outbox *outbox, struct batch *batch, const struct claim_request *claim,
               struct error *error)
{
    int status = real_claim(outbox, batch, claim, error);

    for (int i = 0; is("M14") && i < batch->count; i++)
        if (batch->messages[i].verdict == VERDICT_EARLY)
            batch->messages[i].verdict = VERDICT_PENDING;
    if (!is("M4") || status < 0 || batch->count == 0)
        return status;
    for (int i = 0; i < batch->count; i++)
        batch->messages[i].outcome = OUTCOME_SENT;
    return real_settle(outbox, batch, NULL, error);
}

int wrap_settle(struct outbox *outbox, struct batch *batch, const struct claim_request *next,
                struct error *error)
{
    return is("M4") ? 0 : real_settle(outbox, batch, next, error);
}

static bool keeps_order(void)
{
    return !is("M11") && !is("M16");
}

bool wrap_due(const struct batch *batch, const struct message *message, int sink)
{
    if (keeps_order())
        return real_due(batch, message, sink);
    return is_pending(message, sink) && message->wave == batch->wave;
}

bool wrap_held(const struct batch *batch, const struct message *message)
{
    return keeps_order() && real_held(batch, message);
}

/* At once to the socket, so that what is lost with the connection is what was sent by then. */
natsStatus wrap_reconnect(natsOptions *options, bool allow)
{
    if (!is("M10"))
        return real_reconnect(options, allow);
    (void)natsOptions_SetSendAsap(options, true);
    (void)natsOptions_SetReconnectWait(options, 100);
    return real_reconnect(options, true);
}

static struct text row_number_of(const char *event_id)
{
    for (int i = 0; i < current->count; i++) {
        const struct message *message = &current->messages[i];

        if (message->event_id.len == strlen(event_id) &&
            memcmp(message->event_id.data, event_id, message->event_id.len) == 0)
            return message->id;
    }
    return (struct text){0};
}

/* All headers in one call hide the id. */
bool wrap_block(void)
{
    return !is("M13") && real_block();
}

natsStatus wrap_header(natsMsg *message, const char *name, const char *value)
{
    char number[32];
    struct text id;

    if (!is("M13") || strcmp(name, "Nats-Msg-Id") != 0)
        return real_header(message, name, value);
    id = row_number_of(value);
    (void)snprintf(number, sizeof number, "%.*s", (int)id.len, id.data != NULL ? id.data : "");
    return real_header(message, name, number);
}

void wrap_headers(struct header own[NATS_OWN_HEADERS], const char *id, int number, bool is_last,
                  char digits[12])
{
    (void)snprintf(chunk_id, sizeof chunk_id, "%s", id);
    chunk_count = number;
    real_headers(own, id, number, is_last, digits);
}

struct nats_answer wrap_ack(const char *data, size_t len, const char *stream)
{
    struct nats_answer answer = real_ack(data, len, stream);

    if (!is("M18") || chunk_count == 0 || answer.state != NATS_REFUSED)
        return answer;
    answer = (struct nats_answer){
        .state = NATS_STORED, .sequence = INT32_MAX, .batch_count = chunk_count};
    memcpy(answer.batch_id, chunk_id, sizeof chunk_id);
    return answer;
}
