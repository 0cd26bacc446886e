/*
 * send and await: check every byte, publish, wait for each answer.
 *
 * Each message is built, published and discarded before the next one: the library copies subject,
 * headers and payload into its buffer, which is flushed whenever it has grown large. A lost
 * connection ends the batch, and so does the deadline, so that a slow server costs no more than
 * publish_timeout.
 */

#include "broker/nats/nats.h"

#include "base/clock.h"
#include "base/log_limit.h"
#include "message/order.h"
#include "route/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_LINE_BYTES 4 /* ": " and CRLF */
#define MAX_PAYLOAD_VALID_MS 10000
/* Codes that the library does not define. */
#define ATOMIC_DISABLED 10174
#define BATCH_TOO_LARGE 10199

static size_t header_bytes_of(const struct message *message,
                              const struct header own[NATS_OWN_HEADERS])
{
    size_t bytes = NATS_HEADER_FRAME_BYTES;

    for (int i = 0; i < NATS_OWN_HEADERS; i++)
        if (own[i].value.data != NULL)
            bytes += own[i].name.len + HEADER_LINE_BYTES + own[i].value.len;
    for (int i = 0; i < message->header_count; i++)
        if (message->headers[i].value.data != NULL)
            bytes +=
                message->headers[i].name.len + HEADER_LINE_BYTES + message->headers[i].value.len;
    return bytes;
}

/* A server announces a changed max_payload only to new connections. So a message that is too large
 * for an old value makes the next ready() reconnect, at most once every MAX_PAYLOAD_VALID_MS. */
static bool max_payload_is_stale(struct nats *nats)
{
    if (clock_left_ms(nats->max_payload_read_at_ms + MAX_PAYLOAD_VALID_MS) == 0)
        nats->max_payload_is_stale = true;
    return nats->max_payload_is_stale;
}

/* Whether the message may be sent. One that exceeds a max_payload that may be outdated stays
 * pending. */
static bool check_size(struct nats *nats, struct batch *batch, struct message *message,
                       const struct header own[NATS_OWN_HEADERS])
{
    size_t header_bytes = header_bytes_of(message, own);
    int64_t payload_bytes = message->payload_len > 0 ? message->payload_len : 0;
    bool too_large = (int64_t)header_bytes + payload_bytes > nats->message_bytes_max;

    if (header_bytes > NATS_HEADER_BYTES_MAX)
        batch_refuse(batch, message, VERDICT_REJECTED,
                     "the headers, which include the key, are larger than 64 KiB");
    else if (too_large && max_payload_is_stale(nats))
        return false;
    else if (too_large)
        batch_refuse(
            batch, message, VERDICT_REJECTED,
            "payload of %lld bytes plus %zu bytes of headers is larger than max_payload %lld",
            (long long)payload_bytes, header_bytes, (long long)nats->message_bytes_max);
    else if (message->payload.data == NULL && message->payload_len >= 0)
        batch_refuse(batch, message, VERDICT_REJECTED,
                     "payload of %lld bytes is too large to fetch", (long long)payload_bytes);
    return message->verdict == VERDICT_PENDING;
}

static bool is_below(struct text subject, const char *prefix)
{
    size_t len = strlen(prefix);

    return subject.len >= len && memcmp(subject.data, prefix, len) == 0 &&
           (subject.len == len || subject.data[len] == '.');
}

/* Whether the message may be published to its subject. */
static bool check_subject(struct nats *nats, struct batch *batch, struct message *message)
{
    const char *broken = rules_nats_subject(message->destination);
    const char *declined = NULL;

    if (!sink_allows(nats->base.options, message->destination))
        declined = "the sink's allow list does not permit this subject";
    else if (is_below(message->destination, nats_inbox_prefix(nats)))
        declined = "subjects below the sink's inbox_prefix are for acknowledgements";
    if (broken != NULL || declined != NULL) {
        batch_refuse(batch, message, broken != NULL ? VERDICT_REJECTED : VERDICT_DECLINED, "%s",
                     broken != NULL ? broken : declined);
        return false;
    }
    if (!nats->stream_found || nats_stream_takes(nats, message->destination))
        return true;
    /* The message is not published: it would reach the subject's subscribers, but not the
     * stream. */
    nats->subjects_are_stale = true;
    batch_refuse(
        batch, message, VERDICT_WAIT, "stream \"%.64s\" has no subject that matches \"%.*s\"",
        nats->base.options->stream, (int)message->destination.len, message->destination.data);
    return false;
}

/* Whether the message may be sent. `good` is the last subject of this batch that passed its check;
 * most messages of a batch have the same subject. */
static bool check_message(struct nats *nats, struct batch *batch, struct message *message,
                          const struct header own[NATS_OWN_HEADERS], struct text *good)
{
    const char *broken;

    if (good->data == NULL || !text_equal(message->destination, *good)) {
        if (!check_subject(nats, batch, message))
            return false;
        *good = message->destination;
    }
    broken = rules_headers(&nats->base.headers, message->headers, message->header_count, true);
    if (broken != NULL)
        batch_refuse(batch, message, VERDICT_REJECTED, "%s", broken);
    /* The last two contain nothing unchecked: an id made of the event id, which may be in no other
     * header, and replayed_at; and the stream (client.c). */
    for (int i = 0; broken == NULL && i < OWN_HEADERS; i++) {
        broken = rules_nats_header_value(i == OWN_ID ? message->event_id : own[i].value);
        if (broken != NULL)
            batch_refuse(batch, message, VERDICT_REJECTED, "%s: %s",
                         own_header_name((enum own_header)i), broken);
    }
    if (broken != NULL)
        return false;
    if (message->event_id.data != NULL && message->event_id.len == 0) {
        batch_refuse(batch, message, VERDICT_REJECTED,
                     "the event_id is empty"); /* the server would ignore it */
        return false;
    }
    return check_size(nats, batch, message, own);
}

/* The library copies the message and keeps no pointer into the batch. It refuses a message when
 * that message is invalid or the connection is lost. `is_answered`: the server is asked to answer.
 */
static void hand_over(struct nats *nats, struct batch *batch, int index,
                      const struct header own[NATS_OWN_HEADERS], bool is_answered, bool can_send)
{
    struct message *message = &batch->messages[index];
    natsStatus status = NATS_CONNECTION_CLOSED;
    char reply[NATS_REPLY_BYTES];
    struct nats_answer refusal;
    natsMsg *built = NULL;

    if (can_send) {
        if (is_answered) {
            nats_new_token(nats, nats->pending[index].token);
            nats_reply_subject(nats, nats->first_request + (uint64_t)index,
                               nats->pending[index].token, reply);
        }
        built = nats_build(message, own, is_answered ? reply : NULL, nats->headers_in_one_call,
                           nats->scratch);
        status =
            built != NULL ? natsConnection_PublishMsg(nats->connection, built) : NATS_NO_MEMORY;
    }
    if (built != NULL) {
        /* The headers are freed on this thread, which has allocated them and will reuse the memory.
         * Only the message itself is left to the library's thread. */
        if (nats->headers_in_one_call)
            nats_drop_block(built, nats->scratch);
        else
            nats_drop_headers(built, own);
        nats_discard(nats, built);
    }
    if (status == NATS_OK && is_answered) {
        nats->pending[index].state = NATS_EXPECTED;
        nats->expected++;
    }
    if (status == NATS_OK)
        return;
    refusal = nats_refusal(status);
    nats_judge(batch, message, &refusal, nats->base.options->stream);
    nats->unresolved += message->verdict == VERDICT_PENDING;
}

static bool can_send(const struct nats *nats, int64_t deadline_ms)
{
    return !nats_lost(nats) && clock_left_ms(deadline_ms) > 0;
}

/* Whether the message is due and may be sent; then `own` is set. */
static bool is_ready(struct nats *nats, struct batch *batch, int sink, struct message *message,
                     struct header own[NATS_OWN_HEADERS], struct text *good)
{
    if (!order_is_due(batch, message, sink))
        return false;
    nats_own_headers(&nats->base, message, own);
    return check_message(nats, batch, message, own, good);
}

static void send_each(struct nats *nats, struct batch *batch, int sink, int64_t deadline_ms)
{
    bool sends = can_send(nats, deadline_ms);
    struct text good = {NULL, 0};

    for (int i = 0; i < nats->count; i++) {
        struct header own[NATS_OWN_HEADERS];

        if (!is_ready(nats, batch, sink, &batch->messages[i], own, &good))
            continue;
        hand_over(nats, batch, i, own, true, sends);
        sends = sends && nats_flush_if_large(nats, deadline_ms);
    }
}

/* Whether a message that may be sent may also be part of an atomic batch, whose headers make it
 * larger. */
static bool fits_into_batch(const struct nats *nats, const struct message *message,
                            const struct header own[NATS_OWN_HEADERS])
{
    size_t header_bytes = header_bytes_of(message, own) + NATS_BATCH_HEADER_BYTES;
    int64_t bytes = (int64_t)(header_bytes + message->payload.len);

    return header_bytes <= NATS_HEADER_BYTES_MAX && bytes <= nats->message_bytes_max &&
           (nats->stream_bytes_max <= 0 || bytes <= nats->stream_bytes_max);
}

/* Finds the messages of the next chunk. */
static void gather_chunk(struct nats *nats, struct batch *batch, int sink)
{
    struct text good = {NULL, 0};
    bool is_alone = false;

    chunk_begin(&nats->chunks);
    nats->chunk_last = -1;
    for (; nats->next < nats->count && !is_alone; nats->next++) {
        struct message *message = &batch->messages[nats->next];
        struct header own[NATS_OWN_HEADERS];

        if (!is_ready(nats, batch, sink, message, own, &good))
            continue;
        is_alone = !fits_into_batch(nats, message, own);
        if ((is_alone && nats->chunks.count > 0) || !chunk_takes(&nats->chunks, message))
            break;
        message->handed = true;
        nats->pending[nats->next].state = NATS_IN_CHUNK;
        nats->chunk_last = nats->next;
    }
    nats->chunk_count = nats->chunks.count;
}

/* A chunk of one message is sent without a batch. If the library does not take the last message,
 * the server never answers for the others. */
static void send_chunk(struct nats *nats, struct batch *batch, int sink, int64_t deadline_ms)
{
    bool sends = can_send(nats, deadline_ms);
    int first = nats->next;
    int number = 0;

    gather_chunk(nats, batch, sink);
    nats_new_token(nats, nats->chunk_id);
    for (int i = first; i <= nats->chunk_last; i++) {
        struct message *message = &batch->messages[i];
        struct header own[NATS_OWN_HEADERS];
        bool is_last = i == nats->chunk_last;
        char digits[12];

        if (nats->pending[i].state != NATS_IN_CHUNK)
            continue;
        nats_own_headers(&nats->base, message, own);
        if (nats->chunk_count > 1)
            nats_batch_headers(own, nats->chunk_id, ++number, is_last, digits);
        hand_over(nats, batch, i, own, is_last, sends);
        sends = sends && nats_flush_if_large(nats, deadline_ms);
    }
    if (nats->chunk_last >= 0 && nats->pending[nats->chunk_last].state != NATS_EXPECTED)
        chunks_send_one_per_key(&nats->chunks);
}

/* What any lane has seen acknowledged until now. */
static void read_floor(struct nats *nats)
{
    const struct seen_place place = nats_place(nats);
    int64_t floor = seen_floor(nats->base.seen, &place);

    if (floor > 0 && (uint64_t)floor > nats->highest_sequence)
        nats->highest_sequence = (uint64_t)floor;
    nats->highest_before_send = nats->highest_sequence;
}

static void keep_highest(const struct nats *nats)
{
    const struct seen_place place = nats_place(nats);

    if (nats->highest_sequence > nats->highest_before_send)
        (void)seen_acknowledged(nats->base.seen, &place, SEEN_NOTHING,
                                (int64_t)nats->highest_sequence);
}

void nats_send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms)
{
    struct nats *nats = (struct nats *)broker;

    nats->unresolved = 0;
    nats->expected = 0;
    nats->no_responders = 0;
    nats->count = broker_reserve(&nats->pending, &nats->pending_capacity, batch->count,
                                 sizeof *nats->pending) == 0
                      ? batch->count
                      : 0;
    nats->unresolved = batch->count - nats->count;
    nats->first_request = nats->next_request;
    read_floor(nats);
    nats->next_request += (uint64_t)nats->count;
    nats_silence_begin(nats);
    for (int i = 0; i < nats->count; i++)
        nats->pending[i] = (struct nats_pending){.state = NATS_NOT_EXPECTED};
    nats->next = 0;
    nats->chunk_last = -1;
    nats->in_chunks = nats->takes_batches && order_shares_wave(batch, sink);
    if (nats->in_chunks)
        send_chunk(nats, batch, sink, deadline_ms);
    else
        send_each(nats, batch, sink, deadline_ms);
    nats_write_some(nats, deadline_ms);
}

/* Whether another message was acknowledged with this number. Each message of a stream has its own
 * number, and a message published after an acknowledgement arrived has a higher number than the
 * acknowledged one. */
static bool is_number_taken(const struct nats *nats, uint64_t sequence)
{
    if (sequence > nats->highest_sequence)
        return false;
    if (sequence <= nats->highest_before_send)
        return true;
    for (int i = 0; i < nats->count; i++)
        if (nats->pending[i].state == NATS_STORED && nats->pending[i].sequence == sequence)
            return true;
    return false;
}

static void warn_of_forgery(const struct nats *nats)
{
    static struct log_limit limit = {.lines = "forged NATS acknowledgements"};

    log_limit_line(&limit, LOG_WARN, clock_now_ms(),
                   "nats at %s: ignored a forged acknowledgement below \"%s\": no other client "
                   "should be permitted to publish there (inbox_prefix)",
                   nats->address, nats_inbox_prefix(nats));
}

/* `floor`: the number that it should be above. */
static void doubt_sequence(const struct nats *nats, uint64_t floor, uint64_t sequence)
{
    static struct log_limit limit = {.lines = "repeated NATS acknowledgements"};
    const struct seen_place place = nats_place(nats);

    keep_highest(nats);
    if (seen_acknowledged(nats->base.seen, &place, (int64_t)floor, (int64_t)sequence))
        log_limit_line(&limit, LOG_WARN, clock_now_ms(),
                       "nats at %s: ignored a second acknowledgement with sequence number %" PRIu64
                       " of stream \"%s\": was the stream deleted and created again?",
                       nats->address, sequence, nats->base.options->stream);
}

static void refuse_for_stream(const struct nats *nats, struct batch *batch, struct message *message)
{
    batch_refuse(batch, message, VERDICT_REJECTED,
                 "payload of %zu bytes plus headers: larger than max_msg_size %lld of stream"
                 " \"%.64s\" (10054)",
                 message->payload.len, (long long)nats->stream_bytes_max,
                 nats->base.options->stream);
}

/* Without a connection no limit of the server is known; with one it was read just now. */
void nats_explain(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms)
{
    struct nats *nats = (struct nats *)broker;
    struct text good = {NULL, 0};

    (void)deadline_ms;
    nats->max_payload_read_at_ms = clock_now_ms();
    if (nats->connection == NULL)
        nats->message_bytes_max = INT64_MAX;
    for (int i = 0; i < batch->count; i++) {
        struct message *message = &batch->messages[i];
        struct header own[NATS_OWN_HEADERS];

        if (message->sink != sink)
            continue;
        nats_own_headers(broker, message, own);
        if (order_is_in_wave(batch, message, sink) &&
            check_message(nats, batch, message, own, &good) && nats->stream_found &&
            nats->stream_bytes_max > 0 &&
            (int64_t)(header_bytes_of(message, own) + message->payload.len) >
                nats->stream_bytes_max)
            refuse_for_stream(nats, batch, message);
        broker_show_headers(broker, batch, message, own, NATS_OWN_HEADERS);
    }
}

/* Nothing of the batch is stored, as far as the server says. It does not say which message is to
 * blame, so for some seconds each message of a key is sent alone and gets an answer of its own.
 * A server that does not know batches stores each message and acknowledges the last one. What was
 * known of the stream may be wrong. */
static void refuse_chunk(struct nats *nats, const struct nats_answer *answer)
{
    static struct log_limit limit = {.lines = "refused atomic batches"};

    nats->subjects_are_stale = true;
    if (answer->code == BATCH_TOO_LARGE)
        nats->chunks.messages_max = nats->chunk_count / 2;
    else
        chunks_send_one_per_key(&nats->chunks);
    if (answer->code == ATOMIC_DISABLED || answer->state == NATS_STORED)
        nats->takes_batches = false;
    log_limit_line(
        &limit, LOG_INFO, clock_now_ms(),
        "sink %s, stream \"%s\": an atomic batch of %d messages was not acknowledged as one "
        "(%s, %d): for some seconds the messages of each key are sent one by one",
        nats->base.options->name, nats->base.options->stream, nats->chunk_count,
        answer->state == NATS_REFUSED ? answer->text : "another acknowledgement", answer->code);
}

/* The server stores a batch entirely, under consecutive numbers, or not at all. Only the
 * acknowledgement of exactly this batch counts. */
static void take_chunk(struct nats *nats, struct batch *batch, const struct nats_answer *answer)
{
    uint64_t sequence = answer->sequence - (uint64_t)nats->chunk_count;

    nats->pending[nats->chunk_last].state = NATS_IN_CHUNK;
    if (answer->state != NATS_STORED || strcmp(answer->batch_id, nats->chunk_id) != 0 ||
        answer->batch_count != nats->chunk_count ||
        answer->sequence < (uint64_t)nats->chunk_count) {
        refuse_chunk(nats, answer);
        return;
    }
    if (sequence < nats->highest_sequence) {
        nats->unresolved += nats->chunk_count;
        doubt_sequence(nats, nats->highest_sequence, sequence + 1);
        return;
    }
    for (int i = 0; i <= nats->chunk_last; i++) {
        if (nats->pending[i].state != NATS_IN_CHUNK)
            continue;
        nats->pending[i].state = NATS_STORED;
        nats->pending[i].sequence = ++sequence;
        nats_judge(batch, &batch->messages[i], answer, nats->base.options->stream);
    }
    nats->highest_sequence = answer->sequence;
}

/* An answer to a message that expects none (any more) is ignored. If an expected answer has a
 * sequence number that another message was acknowledged with, the message stays pending and the
 * connection is replaced. */
static void take_answer(struct nats *nats, struct batch *batch, const struct nats_answer *answer,
                        uint64_t index)
{
    struct nats_pending *expected = &nats->pending[index];

    if (expected->state != NATS_EXPECTED)
        return;
    nats->expected--;
    if (answer->state == NATS_STORED || answer->state == NATS_DUPLICATE)
        nats_note_stored(nats);
    if ((int)index == nats->chunk_last && nats->chunk_count > 1) {
        take_chunk(nats, batch, answer);
        return;
    }
    if (answer->state == NATS_STORED && is_number_taken(nats, answer->sequence)) {
        expected->state = NATS_NOT_EXPECTED;
        nats->unresolved++;
        doubt_sequence(nats, nats->highest_before_send, answer->sequence);
        return;
    }
    if (answer->state == NATS_STORED && answer->sequence > nats->highest_sequence)
        nats->highest_sequence = answer->sequence;
    expected->state = answer->state;
    expected->sequence = answer->sequence;
    nats_judge(batch, &batch->messages[index], answer, nats->base.options->stream);
    if (answer->state == NATS_REFUSED && answer->code == JSStreamMessageExceedsMaximumErr) {
        nats->subjects_are_stale = true;
        refuse_for_stream(nats, batch, &batch->messages[index]);
    }
    nats->unresolved +=
        answer->state == NATS_REFUSED && batch->messages[index].verdict == VERDICT_PENDING;
}

static void read_answer(struct nats *nats, struct batch *batch, natsMsg *answer_message)
{
    struct nats_answer answer;
    uint64_t number;
    const char *token;
    uint64_t index;

    if (!nats_read_reply(nats, answer_message, &number, &token)) {
        warn_of_forgery(nats);
        return;
    }
    if (nats_take_question(nats, answer_message, number, token))
        return;
    index = number - nats->first_request;
    if (index >= (uint64_t)nats->count)
        return;
    if (memcmp(nats->pending[index].token, token, NATS_TOKEN_BYTES) != 0) {
        warn_of_forgery(nats);
        return;
    }
    answer =
        nats_read_ack(natsMsg_GetData(answer_message),
                      (size_t)natsMsg_GetDataLength(answer_message), nats->base.options->stream);
    take_answer(nats, batch, &answer, index);
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

/* Whether messages are unanswered even if all "no responders" replies are for messages. Those that
 * may be for a question of silence.c do not count. */
static bool awaits_more(const struct nats *nats)
{
    return nats->expected > nats->no_responders - nats->questions;
}

/* The library does not say which message a "no responders" reply is for. When as many messages are
 * unanswered as there are such replies, they must be for these. If that were wrong for a stored
 * message, it would be sent again and found to be a duplicate.
 *
 * A stream without a leader does not respond either: during an election, and at a server that is
 * cut off from the majority. Then the messages stay unanswered, and ready() tries another server.
 * Returns whether the stream has a leader, as far as is known. */
static bool take_no_responders(struct nats *nats, struct batch *batch, int64_t deadline_ms)
{
    const struct nats_answer no_responders = nats_refusal(NATS_NO_RESPONDERS);

    if (nats->expected == 0 || awaits_more(nats))
        return true;
    if (!nats_stream_has_leader(nats, deadline_ms))
        return false;
    nats->subjects_are_stale = true; /* the stream may be gone */
    for (int i = 0; i < nats->count; i++)
        take_answer(nats, batch, &no_responders, (uint64_t)i);
    return true;
}

/* Returns whether the stream has a leader, as far as is known. */
static bool await_answers(struct nats *nats, struct batch *batch, int64_t deadline_ms)
{
    while (nats->expected > 0 && awaits_more(nats)) {
        natsMsg *answer_message = nats_next(nats, nats_silence_until(nats, deadline_ms));

        if (answer_message != NULL) {
            read_answer(nats, batch, answer_message);
            nats_discard(nats, answer_message);
            continue;
        }
        take_forbidden(nats, batch);
        if (nats_lost(nats) || clock_left_ms(deadline_ms) == 0 || nats_is_silent(nats, deadline_ms))
            break;
    }
    return take_no_responders(nats, batch, deadline_ms);
}

/* Messages that are not sent stay pending for another batch. */
static bool may_send_chunk(const struct nats *nats, int64_t deadline_ms)
{
    return nats->in_chunks && nats->next < nats->count && nats->chunk_last >= 0 &&
           nats->pending[nats->chunk_last].state == NATS_STORED && can_send(nats, deadline_ms);
}

/* Returns whether the stream has a leader, as far as is known. */
static bool finish_sending(struct nats *nats, struct batch *batch, int sink, int64_t deadline_ms)
{
    bool has_leader;

    nats_heard(nats); /* the lane may have waited for another sink until now */
    for (;;) {
        if (nats->expected > 0)
            nats_flush_batch(nats, deadline_ms);
        has_leader = await_answers(nats, batch, deadline_ms);
        if (!may_send_chunk(nats, deadline_ms))
            return has_leader;
        send_chunk(nats, batch, sink, deadline_ms);
    }
}

int nats_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
               struct error *error)
{
    struct nats *nats = (struct nats *)broker;
    int unanswered;
    bool has_leader;
    bool lost;
    char text[128];

    has_leader = finish_sending(nats, batch, sink, deadline_ms);
    unanswered = nats->expected + nats->unresolved;
    if (nats->in_chunks && nats->expected > 0)
        unanswered += nats->chunk_count - 1;
    unanswered += nats_compare_duplicates(nats, batch, nats->given_up != NULL ? 0 : deadline_ms);
    /* What is sent again may be stored already, and a batch with a duplicate is refused. */
    if (nats->in_chunks && unanswered > 0)
        chunks_send_one_per_key(&nats->chunks);
    else if (!nats->in_chunks && nats->highest_sequence > nats->highest_before_send)
        chunks_note_acknowledged(&nats->chunks);
    keep_highest(nats);
    nats->count = 0;
    nats_free_discarded(nats);
    lost = nats_lost(nats);
    if (unanswered > 0)
        nats_disconnect(nats);
    if (unanswered == 0)
        return 0;
    (void)snprintf(text, sizeof text, "%d %s not acknowledged (%s)", unanswered,
                   unanswered == 1 ? "message was" : "messages were",
                   lost                     ? "connection lost"
                   : nats->given_up != NULL ? nats->given_up
                   : has_leader             ? "no valid answer in time"
                                            : "the stream has no leader");
    return nats_fail(nats, error, ERROR_TRANSIENT, text);
}
