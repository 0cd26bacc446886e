/*
 * Reads the stream through a pull consumer of its own: without acknowledgements, in the server's
 * memory (ADR-13). It is deleted at the end; the server drops it by itself some time after the
 * connection is gone. One request for messages at a time bounds what is on its way: a server drops
 * a client for which 64 MiB wait.
 *
 * The reply subject of each message is $JS.ACK.STREAM.CONSUMER.DELIVERED.SEQUENCE.NUMBER.TIME.LEFT,
 * from nats-server 2.10 on possibly with DOMAIN.ACCOUNT after $JS.ACK and more at the end.
 */

#include "broker/nats/nats.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ACK_PREFIX "$JS.ACK."
#define PULL_MESSAGES 1000
#define PULL_BYTES (8 * 1024 * 1024)
#define ACK_TOKENS 9
#define ACK_TOKENS_DOMAIN 11
#define HEADERS_MAX NATS_STORED_HEADERS_MAX
#define NS_PER_MS 1000000
#define NS_PER_S 1000000000
#define EXPIRES_S 5   /* of a request for messages */
#define INACTIVE_S 60 /* after which the server deletes the consumer by itself */
#define ASK_MS 5000
#define STEP_MS 1000
#define ENOUGH 8 /* times the messages that are wanted */

/* What the reply subject of a delivered message says. */
struct delivery {
    uint64_t sequence;
    uint64_t number;
    int64_t time_ns;
};

struct reading {
    struct nats *nats;
    const struct read_request *request;
    char consumer[32 + NATS_TOKEN_BYTES];
    uint64_t first, end;          /* sequence numbers of the stream when reading began */
    char reply[NATS_REPLY_BYTES]; /* where the messages of the current request arrive */
    int asked;       /* messages of the current request that have not come; 0: there is none */
    uint64_t last;   /* the last sequence number that was read */
    uint64_t number; /* of the last message that was delivered; they are consecutive */
    uint64_t wanted; /* so many messages, the last ones; 0: all up to the end */
    int64_t heard_at_ms;
    struct delivery doubtful[PULL_MESSAGES]; /* of the current request; they are fetched again */
    int doubtful_count;
    bool done;
};

static int fail(const struct reading *reading, struct error *error, const char *why)
{
    char text[512];

    (void)snprintf(text, sizeof text, "reading stream \"%s\": %s",
                   reading->nats->base.options->stream, why);
    return nats_fail(reading->nats, error, ERROR_TRANSIENT, text);
}

static bool read_delivery(const char *reply, struct delivery *delivery)
{
    uint64_t numbers[3];
    int tokens = 1;

    for (const char *at = reply; *at != '\0'; at++)
        tokens += *at == '.';
    if (tokens != ACK_TOKENS && tokens < ACK_TOKENS_DOMAIN)
        return false;
    for (int skip = tokens == ACK_TOKENS ? 5 : 7; skip > 0; skip--)
        reply += strcspn(reply, ".") + 1;
    for (int i = 0; i < 3; i++) {
        numbers[i] = strtoull(reply, NULL, 10);
        reply += strcspn(reply, ".") + 1;
    }
    *delivery = (struct delivery){numbers[0], numbers[1], (int64_t)numbers[2]};
    return true;
}

/* The library's parser takes the line behind an empty value for the value: "NAME: VALUE". */
static bool is_doubtful(const char *value)
{
    const char *colon = value + strcspn(value, ": \t");

    return colon > value && *colon == ':' && (colon[1] == ' ' || colon[1] == '\0');
}

/* Returns how many headers there are; -1: too many, or no memory. free() *names. *doubtful: they
 * may be others. */
static int take_headers(natsMsg *message, struct header headers[HEADERS_MAX], const char ***names,
                        bool *doubtful)
{
    int name_count = 0;
    int count = 0;
    natsStatus status = natsMsgHeader_Keys(message, names, &name_count);

    *doubtful = status != NATS_OK && status != NATS_NOT_FOUND;
    if (status != NATS_OK)
        return 0;
    for (int i = 0; i < name_count; i++) {
        const char **values = NULL;
        int value_count = 0;

        if (natsMsgHeader_Values(message, (*names)[i], &values, &value_count) != NATS_OK)
            return -1;
        for (int j = 0; j < value_count && count < HEADERS_MAX; j++) {
            *doubtful = *doubtful || is_doubtful(values[j]);
            headers[count++] = (struct header){text_of((*names)[i]), text_of(values[j])};
        }
        free((void *)values);
        if (count == HEADERS_MAX)
            return -1;
    }
    return count;
}

static int hand_over(struct reading *reading, const struct delivery *delivery, struct held *held,
                     struct error *error)
{
    struct text id = {NULL, 0};
    char buffer[1024];

    held->position = (int64_t)delivery->sequence;
    held->time_ms = delivery->time_ns / NS_PER_MS;
    for (int i = 0; i < held->header_count; i++)
        if (text_equal(held->headers[i].name, text_of("Nats-Msg-Id")))
            id = held->headers[i].value;
    held_identify(&reading->nats->base, held, id, buffer, sizeof buffer);
    return reading->request->on_message(reading->request->closure, held, error);
}

static int take_message(struct reading *reading, natsMsg *message, struct error *error)
{
    struct header headers[HEADERS_MAX];
    const char **names = NULL;
    bool doubtful;
    struct delivery delivery;
    struct held held = {.headers = headers, .destination = text_of(natsMsg_GetSubject(message))};
    int status = 0;

    if (!read_delivery(natsMsg_GetReply(message), &delivery))
        return fail(reading, error, "a message without a sequence number");
    if (delivery.number != ++reading->number)
        return fail(reading, error, "the server left out messages");
    if (reading->wanted == 0 && delivery.sequence > reading->end) {
        reading->done = true;
        return 0;
    }
    held.header_count = take_headers(message, headers, &names, &doubtful);
    if (natsMsg_GetDataLength(message) > 0)
        held.payload =
            (struct text){natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message)};
    if (held.header_count < 0)
        held.header_count = 0; /* a relay sends fewer, and an id */
    if (doubtful)
        reading->doubtful[reading->doubtful_count++] = delivery;
    else
        status = hand_over(reading, &delivery, &held, error);
    free((void *)names);
    reading->last = delivery.sequence;
    reading->done = reading->wanted > 0 ? delivery.number == reading->wanted
                                        : delivery.sequence >= reading->end;
    return status;
}

/* Asks for a stored message: *message, a part of *reply, which the caller releases, is NULL when
 * the server says that there is none. No message of the consumer is on its way meanwhile: asking
 * would drop it. */
static int get_stored(struct reading *reading, const char *request, json_t **reply,
                      const json_t **message, struct error *error)
{
    struct nats *nats = reading->nats;
    char what[NATS_TEXT_BYTES];
    const json_t *refusal;
    const char *why;

    (void)snprintf(what, sizeof what, "STREAM.MSG.GET.%s", nats->base.options->stream);
    nats->ready_deadline_ms = clock_now_ms() + ASK_MS;
    if (nats_call_api(nats, what, request, reply, error) < 0) {
        if (nats_lost(nats))
            return fail(reading, error, "the connection was lost");
        (void)fail(reading, error, "a message cannot be fetched by its number");
        return error_hint(error, "the user needs permission to publish to %s%s", nats->api, what);
    }
    *message = json_object_get(*reply, "message");
    refusal = json_object_get(*reply, "error");
    if (*message != NULL ||
        json_integer_value(json_object_get(refusal, "err_code")) == JSNoMessageFoundErr)
        return 0;
    why = json_string_value(json_object_get(refusal, "description"));
    return fail(reading, error, why != NULL ? why : "the server does not say what it holds");
}

/* Nothing more came in time. The consumer may be at a replica that lags; the leader knows. */
static int find_end(struct reading *reading, struct error *error)
{
    const char *subject = reading->request->subject;
    json_t *question = json_pack("{s:I, s:s}", "seq", (json_int_t)reading->last + 1, "next_by_subj",
                                 subject != NULL ? subject : ">");
    char *request = question != NULL ? json_dumps(question, JSON_COMPACT) : NULL;
    const json_t *message = NULL;
    json_t *reply = NULL;
    int64_t next;
    int status = request != NULL ? get_stored(reading, request, &reply, &message, error)
                                 : error_no_memory(error);

    json_decref(question);
    free(request);
    next = status == 0 ? json_integer_value(json_object_get(message, "seq")) : 0;
    reading->done = status == 0 && (next == 0 || (uint64_t)next > reading->end);
    json_decref(reply);
    return status;
}

/* A status instead of a message ends the request: its time is over, or the next message does not
 * fit into its bytes. */
static int take(struct reading *reading, natsMsg *message, struct error *error)
{
    const char *reply = natsMsg_GetReply(message);
    const char *status = NULL;

    if (reply != NULL && strncmp(reply, ACK_PREFIX, sizeof ACK_PREFIX - 1) == 0) {
        reading->heard_at_ms = clock_now_ms();
        reading->asked--;
        return take_message(reading, message, error);
    }
    /* From nats-server 2.10 on a request that is complete has a status, too. */
    if (strcmp(natsMsg_GetSubject(message), reading->reply) != 0 ||
        natsMsgHeader_Get(message, "Status", &status) != NATS_OK)
        return 0;
    if (strcmp(status, "408") == 0 || strcmp(status, "404") == 0) {
        reading->asked = 0;
        return find_end(reading, error);
    }
    if (reading->asked == PULL_MESSAGES)
        return fail(reading, error, "the server delivers nothing");
    reading->asked = 0;
    return 0;
}

/* From a sequence number on, from a time, or all; NULL: no memory. */
static char *write_request(const struct reading *reading, uint64_t from)
{
    time_t since_s = (time_t)(reading->request->since_ms / 1000);
    json_t *config = json_pack(
        "{s:s, s:s, s:s*, s:s, s:s, s:I, s:b, s:i}", "name", reading->consumer, "deliver_policy",
        from > 0      ? "by_start_sequence"
        : since_s > 0 ? "by_start_time"
                      : "all",
        "filter_subject", reading->request->subject, "ack_policy", "none", "replay_policy",
        "instant", "inactive_threshold", (json_int_t)INACTIVE_S * NS_PER_S, "mem_storage", 1,
        "num_replicas", 1);
    json_t *request;
    char start[40];
    char *text;

    if (from > 0)
        (void)json_object_set_new(config, "opt_start_seq", json_integer((json_int_t)from));
    else if (since_s > 0)
        (void)json_object_set_new(config, "opt_start_time",
                                  json_string(clock_utc(start, reading->request->since_ms, false)));
    request = json_pack("{s:s, s:o}", "stream_name", reading->nats->base.options->stream, "config",
                        config);
    text = request != NULL ? json_dumps(request, JSON_COMPACT) : NULL;
    json_decref(request);
    return text;
}

/* Sets *left: the messages that it will deliver. */
static int make_consumer(struct reading *reading, uint64_t from, int64_t *left, struct error *error)
{
    struct nats *nats = reading->nats;
    const char *stream = nats->base.options->stream;
    char token[NATS_TOKEN_BYTES];
    char what[NATS_TEXT_BYTES];
    json_t *reply = NULL;
    char *text;
    const json_t *pending;
    int status;

    nats_new_token(nats, token);
    (void)snprintf(reading->consumer, sizeof reading->consumer, "outbox-relay-read-%.*s",
                   NATS_TOKEN_BYTES, token);
    text = write_request(reading, from);
    if (text == NULL)
        return error_no_memory(error);
    (void)snprintf(what, sizeof what, "CONSUMER.CREATE.%s.%s", stream, reading->consumer);
    nats->ready_deadline_ms = clock_now_ms() + ASK_MS;
    status = nats_call_api(nats, what, text, &reply, error);
    free(text);
    pending = json_object_get(reply, "num_pending");
    *left = json_integer_value(pending);
    if (status < 0) {
        (void)fail(reading, error, "no consumer can be made");
        (void)error_hint(error,
                         "the user needs permission to publish to %sCONSUMER.*.%s.>, "
                         "%sCONSUMER.MSG.NEXT.%s.> and %sSTREAM.INFO.%s, and to "
                         "subscribe to %s.>",
                         nats->api, stream, nats->api, stream, nats->api, stream,
                         nats_inbox_prefix(nats));
    } else if (!json_is_integer(pending)) {
        const char *why =
            json_string_value(json_object_get(json_object_get(reply, "error"), "description"));

        status = fail(reading, error, why != NULL ? why : "no consumer can be made");
    }
    json_decref(reply);
    return status;
}

static void delete_consumer(const struct reading *reading)
{
    char what[NATS_TEXT_BYTES];
    struct error ignored;
    json_t *reply = NULL;

    reading->nats->ready_deadline_ms = clock_now_ms() + ASK_MS;
    (void)snprintf(what, sizeof what, "CONSUMER.DELETE.%s.%s", reading->nats->base.options->stream,
                   reading->consumer);
    (void)nats_call_api(reading->nats, what, "", &reply, &ignored);
    json_decref(reply);
}

/* The server finds no message from the end backwards: consumers that begin ever earlier say how
 * many there are, and others between the last two, until there are not many more than are wanted.
 */
static int make_consumer_of_last(struct reading *reading, int64_t *left, struct error *error)
{
    int64_t wanted = reading->request->last;
    uint64_t too_late = reading->end + 1; /* from there on there are too few */
    uint64_t reach = (uint64_t)wanted;

    for (;;) {
        uint64_t stored = too_late - reading->first;
        uint64_t from = reach < stored ? too_late - reach : reading->first;

        if (make_consumer(reading, from, left, error) < 0)
            return -1;
        if (*left < wanted && from > reading->first) {
            too_late = from;
            reach *= 4;
        } else if (*left > ENOUGH * wanted && reach > 1 && stored > 1) {
            reach = (reach < stored ? reach : stored) / 2;
        } else {
            return 0;
        }
        delete_consumer(reading);
    }
}

static int pull(struct reading *reading, struct error *error)
{
    struct nats *nats = reading->nats;
    int64_t bytes =
        nats->message_bytes_max > PULL_BYTES / 2 ? 2 * nats->message_bytes_max : PULL_BYTES;
    char subject[NATS_TEXT_BYTES];
    char request[128];
    char token[NATS_TOKEN_BYTES];
    natsStatus status;

    (void)snprintf(subject, sizeof subject, "%sCONSUMER.MSG.NEXT.%s.%s", nats->api,
                   nats->base.options->stream, reading->consumer);
    (void)snprintf(request, sizeof request,
                   "{\"batch\":%d,\"max_bytes\":%" PRId64 ",\"expires\":%" PRId64 "}",
                   PULL_MESSAGES, bytes, (int64_t)EXPIRES_S * NS_PER_S);
    nats_new_token(nats, token);
    nats_reply_subject(nats, nats->next_request++, token, reading->reply);
    status =
        natsConnection_PublishRequestString(nats->connection, subject, reading->reply, request);
    if (status != NATS_OK)
        return fail(reading, error, natsStatus_GetText(status));
    nats_flush(nats, clock_now_ms() + ASK_MS);
    reading->asked = PULL_MESSAGES;
    return 0;
}

static int take_stored(struct reading *reading, const struct delivery *delivery,
                       const json_t *message, struct error *error)
{
    struct nats_stored stored;
    struct held held = {.headers = stored.headers};
    int status;

    if (nats_stored_open(&stored, message) < 0)
        return error_no_memory(error);
    held.header_count = stored.header_count;
    held.destination = text_of(stored.subject);
    if (stored.payload_len > 0)
        held.payload = (struct text){stored.payload, stored.payload_len};
    status = hand_over(reading, delivery, &held, error);
    nats_stored_close(&stored);
    return status;
}

/* A message that is gone by now is left out, as one that was dropped before. */
static int fetch_doubtful(struct reading *reading, struct error *error)
{
    char request[48];
    int status = 0;

    for (int i = 0; i < reading->doubtful_count && status == 0; i++) {
        const struct delivery *delivery = &reading->doubtful[i];
        const json_t *message;
        json_t *reply = NULL;

        (void)snprintf(request, sizeof request, "{\"seq\":%" PRIu64 "}", delivery->sequence);
        status = get_stored(reading, request, &reply, &message, error);
        if (status == 0 && message != NULL)
            status = take_stored(reading, delivery, message, error);
        json_decref(reply);
    }
    reading->doubtful_count = 0;
    reading->heard_at_ms = clock_now_ms();
    return status;
}

/* Why nothing has come for a while. */
static int check_silence(const struct reading *reading, struct error *error)
{
    char quoted[NATS_TEXT_BYTES];

    if (nats_problems_next(reading->nats->problems, quoted))
        return fail(reading, error, "the server does not permit to ask for messages");
    if (nats_lost(reading->nats))
        return fail(reading, error, "the connection was lost");
    if (clock_left_ms(reading->heard_at_ms + READ_SILENCE_MS) == 0)
        return fail(reading, error, "the server has fallen silent");
    return 0;
}

static int read_all(struct reading *reading, struct error *error)
{
    struct nats *nats = reading->nats;
    const struct read_request *request = reading->request;
    int64_t left = 0;
    int status = request->last > 0 ? make_consumer_of_last(reading, &left, error)
                                   : make_consumer(reading, 0, &left, error);

    if (status == 0)
        request->on_total(request->closure, left);
    reading->done = left == 0 && (request->since_ms > 0 || request->last > 0);
    reading->wanted = request->last > 0 ? (uint64_t)left : 0;
    reading->heard_at_ms = clock_now_ms();
    while (status == 0 && !reading->done) {
        natsMsg *message;

        if (reading->asked == 0 && pull(reading, error) < 0)
            return -1;
        message = nats_next(nats, clock_now_ms() + STEP_MS);
        if (message != NULL)
            status = take(reading, message, error);
        if (message != NULL)
            nats_discard(nats, message);
        if (status == 0 && reading->doubtful_count > 0 && (reading->asked == 0 || reading->done))
            status = fetch_doubtful(reading, error);
        if (status == 0 && !reading->done)
            status = check_silence(reading, error);
    }
    return status;
}

int64_t nats_time_ms(const char *text)
{
    struct tm utc = {0};
    const char *end = text != NULL ? strptime(text, "%Y-%m-%dT%H:%M:%S", &utc) : NULL;

    if (end == NULL || utc.tm_year < 0)
        return INT64_MAX;
    return (int64_t)timegm(&utc) * 1000 + (*end == '.' ? (int64_t)(strtod(end, NULL) * 1000) : 0);
}

static const char *may_drop(const json_t *info)
{
    if (strcmp(nats_setting_text(info, "retention"), "limits") != 0)
        return "its retention is not \"limits\": consumed messages are dropped";
    if (json_is_true(nats_setting(info, "allow_rollup_hdrs")))
        return "it has allow_rollup_hdrs: a message may replace others";
    if (json_is_true(nats_setting(info, "allow_msg_ttl")))
        return "it has allow_msg_ttl: a message may have a time to live of its own";
    if (json_integer_value(nats_setting(info, "max_msgs_per_subject")) > 0)
        return "it has max_msgs_per_subject: older messages of a subject are dropped";
    return NULL;
}

static int ask(struct nats *nats, json_t **info, struct error *error)
{
    struct findings findings;
    int status;

    if (findings_init(&findings) < 0)
        return error_no_memory(error);
    status = nats_inspect(nats, NULL, info, &findings, error);
    findings_free(&findings);
    if (status == 0 && *info == NULL)
        return nats_fail(nats, error, ERROR_PERMANENT, "the stream does not exist");
    return status;
}

static uint64_t state_of(const json_t *info, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(json_object_get(info, "state"), name));
}

int nats_read(struct broker *broker, const struct read_request *request, struct error *error)
{
    struct reading reading = {.nats = (struct nats *)broker, .request = request};
    json_t *info = NULL;
    struct held_place place = {0};
    int status = 0;

    if (ask(reading.nats, &info, error) < 0)
        return -1;
    reading.first = state_of(info, "first_seq");
    reading.end = state_of(info, "last_seq");
    if (state_of(info, "messages") > 0) {
        status = read_all(&reading, error);
        delete_consumer(&reading);
        json_decref(info);
        info = NULL;
        if (status < 0 || request->last > 0)
            return status;
        if (ask(reading.nats, &info, error) < 0)
            return -1;
    }
    place.first_ms = state_of(info, "messages") > 0
                         ? nats_time_ms(json_string_value(
                               json_object_get(json_object_get(info, "state"), "first_ts")))
                         : INT64_MAX;
    place.has_dropped = state_of(info, "first_seq") > 1;
    place.may_drop = may_drop(info);
    json_decref(info);
    request->on_place(request->closure, &place);
    return 0;
}
