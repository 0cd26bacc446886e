/*
 * send and await: check every byte, publish, wait for each answer.
 *
 * A message is built, published and destroyed before the next: the library copies subject, headers
 * and payload into its buffer, which is written whenever it is large. A lost connection ends the
 * batch, and so does the deadline: a server that reads slowly costs no more than publish_timeout.
 */

#include "broker/nats/nats.h"

#include "base/clock.h"
#include "base/log_limit.h"
#include "broker/nats/loop.h"
#include "message/order.h"
#include "route/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_LINE_BYTES 4 /* ": " and a line end */
#define LIMIT_HOLDS_MS 10000

static size_t header_bytes_of(const struct message *message,
                              const struct header own[NATS_OWN_HEADERS])
{
    size_t bytes = NATS_HEADER_FRAME_BYTES;

    for (int i = 0; i < NATS_OWN_HEADERS; i++)
        if (own[i].value.data != NULL)
            bytes += own[i].name.len + HEADER_LINE_BYTES + own[i].value.len;
    for (int i = 0; i < message->header_count; i++)
        bytes += message->headers[i].name.len + HEADER_LINE_BYTES + message->headers[i].value.len;
    return bytes;
}

static void reject(struct batch *batch, struct message *message, const char *why)
{
    batch_refuse(batch, message, VERDICT_REJECTED, "%s", why);
}

/* A server whose max_payload is changed tells its clients nothing: only a new connection is told
 * (nats_connect). However many are too large, there is one each LIMIT_HOLDS_MS. */
static bool doubts_max(struct nats *nats)
{
    if (clock_left_ms(nats->told_ms + LIMIT_HOLDS_MS) == 0)
        nats->doubts_max = true;
    return nats->doubts_max;
}

/* Whether it may go now. One that is too large for a limit in doubt stays pending. */
static bool check_size(struct nats *nats, struct batch *batch, struct message *message,
                       const struct header own[NATS_OWN_HEADERS])
{
    size_t header_bytes = header_bytes_of(message, own);
    int64_t payload_bytes = message->payload_len > 0 ? message->payload_len : 0;
    bool too_large = (int64_t)header_bytes + payload_bytes > nats->message_bytes_max;

    if (header_bytes > NATS_HEADER_BYTES_MAX)
        reject(batch, message, "headers (the key is one) larger than 64 KiB");
    else if (too_large && doubts_max(nats))
        return false;
    else if (too_large)
        batch_refuse(batch, message, VERDICT_REJECTED,
                     "payload %lld bytes, with %zu of headers, is larger than max_payload %lld",
                     (long long)payload_bytes, header_bytes, (long long)nats->message_bytes_max);
    else if (message->payload.data == NULL && message->payload_len >= 0)
        batch_refuse(batch, message, VERDICT_REJECTED,
                     "payload %lld bytes is too large to be fetched", (long long)payload_bytes);
    return message->verdict == VERDICT_PENDING;
}

static bool is_below(struct text subject, const char *prefix)
{
    size_t len = strlen(prefix);

    return subject.len >= len && memcmp(subject.data, prefix, len) == 0 &&
           (subject.len == len || subject.data[len] == '.');
}

/* Whether the message may go to its subject. */
static bool check_subject(struct nats *nats, struct batch *batch, struct message *message)
{
    const char *broken = rules_nats_subject(message->destination);

    if (broken == NULL && !sink_allows(nats->base.options, message->destination))
        broken = "the sink's allow list does not take this subject";
    if (broken == NULL && is_below(message->destination, nats_inbox_prefix(nats)))
        broken = "subjects below the sink's inbox_prefix are for acknowledgements";
    if (broken != NULL)
        reject(batch, message, broken);
    if (broken != NULL || !nats->stream_found || nats_stream_takes(nats, message->destination))
        return broken == NULL;
    /* Published, it would reach whoever listens to the subject, and the stream would not have it.
     */
    nats->doubts_subjects = true;
    batch_refuse(batch, message, VERDICT_WAIT, "stream \"%.64s\" does not take subject \"%.*s\"",
                 nats->base.options->stream, (int)message->destination.len,
                 message->destination.data);
    return false;
}

/* Whether it may go now. `good` is the last subject of this batch that was found good: most
 * messages of a batch have the same. */
static bool check_message(struct nats *nats, struct batch *batch, struct message *message,
                          const struct header own[NATS_OWN_HEADERS], struct text *good)
{
    const char *broken;

    if (good->data == NULL || !text_equal(message->destination, *good)) {
        if (!check_subject(nats, batch, message))
            return false;
        *good = message->destination;
    }
    broken = rules_nats_headers(message->headers, message->header_count);
    if (broken != NULL)
        reject(batch, message, broken);
    /* The last two are the event id again and the stream, which has been checked (client.c). */
    for (int i = 0; broken == NULL && i < NATS_OWN_HEADERS - 2; i++) {
        broken = rules_nats_header_value(own[i].value);
        if (broken != NULL)
            batch_refuse(batch, message, VERDICT_REJECTED, "%s: %s", own[i].name.data, broken);
    }
    if (broken != NULL)
        return false;
    if (message->event_id.data != NULL && message->event_id.len == 0) {
        reject(batch, message, "the event id is empty"); /* it would be no Nats-Msg-Id */
        return false;
    }
    return check_size(nats, batch, message, own);
}

natsMsg *nats_build(struct nats *nats, const struct message *message,
                    const struct header own[NATS_OWN_HEADERS], const char *reply, bool block)
{
    char *subject = nats->strings; /* the library copies it */
    natsMsg *built = NULL;
    natsStatus status;

    memcpy(subject, message->destination.data, message->destination.len);
    subject[message->destination.len] = '\0';
    if (natsMsg_Create(&built, subject, reply, message->payload.data, (int)message->payload.len) !=
        NATS_OK)
        return NULL;
    status = block ? nats_set_block(built, message, own, nats->strings)
                   : nats_set_headers(built, message, own, nats->strings);
    if (status == NATS_OK)
        return built;
    natsMsg_Destroy(built);
    return NULL;
}

static int reserve_places(struct nats *nats, int count)
{
    struct nats_place *grown;

    if (nats->place_capacity >= count)
        return 0;
    grown = realloc(nats->places, (size_t)count * sizeof(*grown));
    if (grown == NULL)
        return -1;
    nats->places = grown;
    nats->place_capacity = count;
    return 0;
}

/* The library copies the message: nothing of the batch stays in its hands. Refused by it: by the
 * message's own fault, or because the connection is gone. */
static void hand_over(struct nats *nats, struct batch *batch, int place,
                      const struct header own[NATS_OWN_HEADERS], bool goes_on)
{
    struct message *message = &batch->messages[place];
    natsStatus status = NATS_CONNECTION_CLOSED;
    char reply[NATS_REPLY_BYTES];
    struct nats_answer refusal;
    natsMsg *built = NULL;

    if (goes_on) {
        nats_new_token(nats, nats->places[place].token);
        nats_reply_subject(nats, nats->first + (uint64_t)place, nats->places[place].token, reply);
        built = nats_build(nats, message, own, reply, nats->block);
        status =
            built != NULL ? natsConnection_PublishMsg(nats->connection, built) : NATS_NO_MEMORY;
    }
    if (built != NULL) {
        /* Of the pieces of a message with headers all but the last few are freed here, by the
         * thread that has allocated them and will again. */
        if (nats->block)
            nats_drop_block(built, nats->strings);
        else
            nats_drop_headers(built, own);
        nats_discard(nats, built);
    }
    if (status == NATS_OK) {
        nats->places[place].state = NATS_EXPECTED;
        nats->expected++;
        return;
    }
    refusal = nats_refusal(status);
    nats_judge(batch, message, &refusal, nats->base.options->stream);
    nats->unsent += message->verdict == VERDICT_PENDING;
}

void nats_send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms)
{
    struct nats *nats = (struct nats *)broker;
    bool goes_on = !nats_lost(nats) && clock_left_ms(deadline_ms) > 0;
    struct text good = {NULL, 0};

    nats->unsent = 0;
    nats->expected = 0;
    nats->unheard = 0;
    nats->count = reserve_places(nats, batch->count) == 0 ? batch->count : 0;
    nats->unsent = batch->count - nats->count;
    nats->first = nats->asked;
    nats->floor = nats->highest;
    nats->asked += (uint64_t)nats->count;
    for (int i = 0; i < nats->count; i++) {
        struct message *message = &batch->messages[i];
        struct header own[NATS_OWN_HEADERS];

        nats->places[i] = (struct nats_place){.state = NATS_NOT_EXPECTED};
        if (!order_is_due(batch, message, sink))
            continue;
        nats_own_headers(message, nats->base.options->stream, own);
        if (!check_message(nats, batch, message, own, &good))
            continue;
        hand_over(nats, batch, i, own, goes_on);
        goes_on = goes_on && nats_relieve(nats, deadline_ms);
    }
    nats_push(nats, deadline_ms);
}

/* A stream gives each message a number of its own, and one that was published after an
 * acknowledgement has arrived a higher number than that acknowledgement's. */
static bool is_number_taken(const struct nats *nats, uint64_t sequence)
{
    if (sequence > nats->highest)
        return false;
    if (sequence <= nats->floor)
        return true;
    for (int i = 0; i < nats->count; i++)
        if (nats->places[i].state == NATS_STORED && nats->places[i].sequence == sequence)
            return true;
    return false;
}

static void warn_of_forgery(const struct nats *nats)
{
    static struct log_limit limit = {.lines = "answers that NATS servers did not give"};

    log_limit_line(&limit, LOG_WARN, clock_now_ms(),
                   "nats at %s: a forged answer below \"%s\" was ignored: let nobody else publish "
                   "there (inbox_prefix)",
                   nats->address, nats_inbox_prefix(nats));
}

static void warn_of_second(const struct nats *nats, uint64_t sequence)
{
    static struct log_limit limit = {.lines = "second acknowledgements of NATS servers"};

    log_limit_line(&limit, LOG_WARN, clock_now_ms(),
                   "nats at %s: number %" PRIu64
                   " of stream \"%s\" was acknowledged a second time, "
                   "which does not count: was the stream made anew?",
                   nats->address, sequence, nats->base.options->stream);
}

/* One that is not expected is late, or the second. One whose number has counted before is no
 * acknowledgement: the message stays pending, and the connection is made anew. */
static void take_answer(struct nats *nats, struct batch *batch, const struct nats_answer *answer,
                        uint64_t place)
{
    struct nats_place *expected = &nats->places[place];

    if (expected->state != NATS_EXPECTED)
        return;
    nats->expected--;
    if (answer->state == NATS_STORED && is_number_taken(nats, answer->sequence)) {
        expected->state = NATS_NOT_EXPECTED;
        nats->unsent++;
        warn_of_second(nats, answer->sequence);
        return;
    }
    if (answer->state == NATS_STORED && answer->sequence > nats->highest)
        nats->highest = answer->sequence;
    expected->state = answer->state;
    expected->sequence = answer->sequence;
    nats_judge(batch, &batch->messages[place], answer, nats->base.options->stream);
    nats->unsent +=
        answer->state == NATS_REFUSED && batch->messages[place].verdict == VERDICT_PENDING;
}

static void read_answer(struct nats *nats, struct batch *batch, natsMsg *said)
{
    struct nats_answer answer;
    uint64_t number;
    const char *token;
    uint64_t place;

    if (!nats_read_reply(nats, said, &number, &token)) {
        warn_of_forgery(nats);
        return;
    }
    place = number - nats->first;
    if (place >= (uint64_t)nats->count)
        return;
    if (memcmp(nats->places[place].token, token, NATS_TOKEN_BYTES) != 0) {
        warn_of_forgery(nats);
        return;
    }
    answer = nats_read_ack(natsMsg_GetData(said), (size_t)natsMsg_GetDataLength(said),
                           nats->base.options->stream);
    take_answer(nats, batch, &answer, place);
}

static void take_forbidden(struct nats *nats, struct batch *batch)
{
    const struct nats_answer forbidden = nats_refusal(NATS_NOT_PERMITTED);
    char quoted[NATS_TEXT_BYTES];

    while (nats_problems_next(nats->problems, quoted))
        for (int i = 0; i < nats->count; i++)
            if (nats_is_quoted(quoted, batch->messages[i].destination))
                take_answer(nats, batch, &forbidden, (uint64_t)i);
}

/* Where nobody listens there is no ack; when all the others have answers, these are the rest. Were
 * one wrong, a message would wait that is stored, and prove a duplicate. */
static void take_unheard(struct nats *nats, struct batch *batch)
{
    const struct nats_answer unheard = nats_refusal(NATS_NO_RESPONDERS);

    if (nats->expected > nats->unheard)
        return;
    for (int i = 0; i < nats->count; i++)
        take_answer(nats, batch, &unheard, (uint64_t)i);
}

static void await_answers(struct nats *nats, struct batch *batch, int64_t deadline_ms)
{
    while (nats->expected > nats->unheard) {
        natsMsg *said = nats_next(nats, deadline_ms);

        if (said != NULL) {
            read_answer(nats, batch, said);
            nats_discard(nats, said);
            continue;
        }
        take_forbidden(nats, batch);
        if (nats_lost(nats) || clock_left_ms(deadline_ms) == 0)
            break;
    }
    take_unheard(nats, batch);
}

int nats_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
               struct error *error)
{
    struct nats *nats = (struct nats *)broker;
    int unanswered;
    bool lost;
    char text[96];

    (void)sink;
    if (nats->expected > 0)
        nats_flush(nats, deadline_ms);
    await_answers(nats, batch, deadline_ms);
    unanswered = nats->expected + nats->unsent;
    unanswered += nats_compare_duplicates(nats, batch, deadline_ms);
    nats->count = 0;
    nats_clean(nats);
    lost = nats_lost(nats);
    if (unanswered > 0)
        nats_disconnect(nats);
    if (unanswered == 0)
        return 0;
    (void)snprintf(text, sizeof text, "%d messages were not acknowledged (%s)", unanswered,
                   lost ? "connection lost" : "no answer in time");
    return nats_fail(nats, error, ERROR_TRANSIENT, text);
}
