/*
 * Duplicates: the stream has seen this event_id before. Is it the same event?
 *
 * Almost always it is, namely a repeat after a crash. But the stream compares only the id. When two
 * different events have the same id, it drops the second and acknowledges it like a repeat, so that
 * the event would be marked sent and be lost. Therefore the stored message is fetched and compared:
 * subject, payload and headers, except those for the server (Nats-...). If they are equal, the
 * message counts as sent.
 *
 * If they are not, a value may have been another one when it was computed again, or the
 * configuration has changed in between. So the message is a repeat all the same, and a warning says
 * what differs, if the two have the same subject, key and created_at, and the id is of one row only
 * (batch->event_ids). An id that may be used again for another event must come with a created_at.
 * Any other message is rejected, and the operator finds it among the dead rows.
 *
 * A message that cannot be fetched proves nothing either way. If it is gone (consumed, deleted,
 * expired), was never kept, or this user may not read it, the event counts as sent, with one
 * warning per connection. If there is no reply, the broker is taken to be away and the message
 * stays pending. If there is no reply on two connections in a row, the server does not answer this
 * kind of request, and fetching is given up, because the message would otherwise stay pending for
 * ever.
 *
 * Fetches run one after another on the lane's thread, so that memory holds only one stored message
 * at a time, in the server's JSON. If a stream or account renames subjects (subject_transform,
 * mappings), every repeat looks like a collision.
 */

#include "broker/nats/nats.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/log_limit.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FETCH_TIMEOUT_MS 1000

enum stored {
    STORED_SAME,
    STORED_ALTERED,
    STORED_ANOTHER,
    STORED_UNREADABLE,
    STORED_NOT_YET,
    STORED_SILENCE
};

static const char *string_of(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));

    return value != NULL ? value : "";
}

/* A header for or by the server, such as Nats-Msg-Id. */
static bool is_server_header(const char *name)
{
    return strncmp(name, "Nats-", 5) == 0;
}

/* `line`: "name: value", terminated; is modified. */
static bool matches_our_header(char *line, natsMsg *ours)
{
    char *colon = strchr(line, ':');
    const char *value;

    if (colon == NULL)
        return false;
    *colon++ = '\0';
    colon += *colon == ' ';
    return natsMsgHeader_Get(ours, line, &value) == NATS_OK && strcmp(value, colon) == 0;
}

/* The number of headers except those for the server. -1: out of memory. */
static int count_headers(natsMsg *ours)
{
    const char **names = NULL;
    int total = 0;
    int count = 0;

    if (natsMsgHeader_Keys(ours, &names, &total) != NATS_OK)
        return -1;
    for (int i = 0; i < total; i++)
        count += !is_server_header(names[i]);
    free((void *)names);
    return count;
}

/* Names do not repeat, so the headers are the same if they are as many and each one is among
 * ours. If not, *differs is the name of one that is not, or
 * "number of headers". */
static bool is_same_headers(char *headers, natsMsg *ours, int wanted, const char **differs)
{
    char *next = strstr(headers, "\r\n");
    int count = 0;

    while (next != NULL) {
        char *line = next + 2;

        next = strstr(line, "\r\n");
        if (next == NULL || next == line)
            break;
        *next = '\0';
        if (is_server_header(line))
            continue;
        *differs = line; /* up to its colon, which matches_our_header() ends */
        if (!matches_our_header(line, ours))
            return false;
        count++;
    }
    *differs = "number of headers";
    return count == wanted;
}

/* 1: both have this header, with one value; 0: neither has it; -1: they differ. */
static int compare_header(const char *headers, struct text name, natsMsg *ours)
{
    char line[NATS_TEXT_BYTES];
    const char *found;
    const char *value = NULL;
    char wanted[NATS_TEXT_BYTES];

    if (name.data == NULL)
        return 0;
    (void)snprintf(wanted, sizeof wanted, "%.*s", (int)name.len, name.data);
    (void)snprintf(line, sizeof line, "\r\n%.*s: ", (int)name.len, name.data);
    found = strstr(headers, line);
    if (natsMsgHeader_Get(ours, wanted, &value) != NATS_OK)
        value = NULL;
    if (found == NULL || value == NULL)
        return found == NULL && value == NULL ? 0 : -1;
    found += strlen(line);
    return strncmp(found, value, strlen(value)) == 0 &&
                   strncmp(found + strlen(value), "\r\n", 2) == 0
               ? 1
               : -1;
}

/* Whether what is no part of a value tells the same event. */
static bool is_same_event(const struct nats *nats, enum event_ids ids, const char *headers,
                          natsMsg *ours)
{
    const struct text names[] = {nats->base.headers.own[OWN_KEY],
                                 nats->base.headers.own[OWN_CREATED_AT], text_of("ce-time")};
    bool has_time = false;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int compared = compare_header(headers, names[i], ours);

        if (compared < 0)
            return false;
        has_time = has_time || (i > 0 && compared > 0);
    }
    return ids == EVENT_IDS_FRESH || (ids == EVENT_IDS_DISTINCT && has_time);
}

static bool is_same_payload(const char *payload, size_t len, natsMsg *ours)
{
    return len == (size_t)natsMsg_GetDataLength(ours) &&
           (len == 0 || memcmp(payload, natsMsg_GetData(ours), len) == 0);
}

/* `stored`: the "message" object of the server's reply. Out of memory counts as no reply. */
static enum stored compare(struct nats *nats, enum event_ids ids, const json_t *stored,
                           natsMsg *ours)
{
    size_t payload_len;
    size_t headers_len;
    char *payload = nats_decode(string_of(stored, "data"), &payload_len);
    char *headers = nats_decode(string_of(stored, "hdrs"), &headers_len);
    int count = count_headers(ours);
    enum stored found = STORED_ANOTHER;
    const char *differs = "payload";
    bool is_event;

    /* If the stream was deleted and created again, another message may have that number. */
    if (payload == NULL || headers == NULL || count < 0)
        found = STORED_SILENCE;
    else if (compare_header(headers, text_of("Nats-Msg-Id"), ours) <= 0)
        found = STORED_UNREADABLE;
    else if (strcmp(string_of(stored, "subject"), natsMsg_GetSubject(ours)) == 0) {
        is_event = is_same_event(nats, ids, headers, ours);
        if (is_same_payload(payload, payload_len, ours) &&
            is_same_headers(headers, ours, count, &differs))
            found = STORED_SAME;
        else if (is_event)
            found = STORED_ALTERED;
    }
    (void)snprintf(nats->differs, sizeof nats->differs, "%s", differs);
    free(payload);
    free(headers);
    return found;
}

static enum stored compare_reply(struct nats *nats, enum event_ids ids,
                                 const struct message *message, natsMsg *reply)
{
    json_t *root =
        json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0, NULL);
    const json_t *stored = json_object_get(root, "message");
    enum stored found = stored == NULL ? STORED_UNREADABLE : STORED_SILENCE;
    struct header own[NATS_OWN_HEADERS];
    natsMsg *ours = NULL;

    nats_own_headers(&nats->base, message, own);
    if (stored != NULL)
        ours = nats_build(message, own, NULL, false, nats->scratch);
    if (ours != NULL)
        found = compare(nats, ids, stored, ours);
    natsMsg_Destroy(ours);
    json_decref(root);
    return found;
}

static natsStatus fetch(struct nats *nats, uint64_t sequence, int64_t timeout_ms, natsMsg **reply)
{
    char subject[NATS_TEXT_BYTES];
    natsStatus status;
    char request[48];

    (void)snprintf(subject, sizeof subject, "%sSTREAM.MSG.GET.%s", nats->api,
                   nats->base.options->stream);
    (void)snprintf(request, sizeof request, "{\"seq\":%llu}", (unsigned long long)sequence);
    status = nats_ask(nats, subject, request, clock_now_ms() + timeout_ms, reply);
    nats->fetch_forbidden = status == NATS_NOT_PERMITTED;
    return status;
}

/* A wait of less than FETCH_TIMEOUT_MS says nothing about the server. */
static enum stored conclude_silence(struct nats *nats, natsStatus status, int64_t waited_ms)
{
    if (nats->fetch_forbidden)
        return STORED_UNREADABLE;
    if (status != NATS_TIMEOUT || waited_ms < FETCH_TIMEOUT_MS)
        return STORED_SILENCE;
    nats->fetch_disabled = nats->last_fetch_timed_out;
    nats->last_fetch_timed_out = true;
    return nats->fetch_disabled ? STORED_UNREADABLE : STORED_SILENCE;
}

static enum stored find(struct nats *nats, enum event_ids ids, const struct message *message,
                        uint64_t sequence, int64_t deadline_ms)
{
    int64_t left_ms = clock_left_ms(deadline_ms);
    int64_t timeout_ms = left_ms < FETCH_TIMEOUT_MS ? left_ms : FETCH_TIMEOUT_MS;
    natsMsg *reply = NULL;
    natsStatus status = NATS_TIMEOUT;
    enum stored found;

    if (sequence == 0 && nats->unnumbered_is_pending)
        return STORED_NOT_YET;
    if (sequence == 0 || nats->fetch_disabled || nats->fetch_forbidden)
        return STORED_UNREADABLE;
    if (timeout_ms > 0)
        status = fetch(nats, sequence, timeout_ms, &reply);
    if (status != NATS_OK && status != NATS_NO_RESPONDERS)
        return conclude_silence(nats, status, timeout_ms);
    nats->last_fetch_timed_out = false;
    found = status == NATS_OK ? compare_reply(nats, ids, message, reply) : STORED_UNREADABLE;
    natsMsg_Destroy(reply);
    return found;
}

static void warn(struct nats *nats)
{
    if (!nats->warned)
        log_event(
            LOG_WARN, LOG_FIELDS(.sink = nats->base.options->name),
            "nats at %s: stream \"%s\" has seen an event_id before, but the stored message "
            "cannot be read (deleted, or no permission to publish to %sSTREAM.MSG.GET.%s): the "
            "event is treated as a repeat, and counts as sent",
            nats->address, nats->base.options->stream, nats->api, nats->base.options->stream);
    nats->warned = true;
}

/* Whether another row of the batch has this event id: an application has given it to both. */
static bool is_shared(const struct batch *batch, const struct message *message)
{
    for (int i = 0; i < batch->count; i++)
        if (&batch->messages[i] != message &&
            text_equal(batch->messages[i].event_id, message->event_id))
            return true;
    return false;
}

/* Returns 1 when the message stays pending, else 0. */
static int judge(struct nats *nats, struct batch *batch, struct message *message, uint64_t sequence,
                 enum stored found)
{
    static struct log_limit altered = {.lines = "rows that differ from what was sent before"};

    switch (found) {
    case STORED_UNREADABLE:
        warn(nats);
        message->verdict = VERDICT_SENT;
        return 0;
    case STORED_SAME:
        message->verdict = VERDICT_SENT;
        return 0;
    case STORED_ALTERED:
        log_limit_line(&altered, LOG_WARN, clock_now_ms(),
                       "row %.*s was sent before, and its %s differs: stream \"%s\" keeps the first"
                       " message (sequence %llu), and the row counts as sent",
                       (int)message_row_id(message).len, message_row_id(message).data,
                       nats->differs, nats->base.options->stream, (unsigned long long)sequence);
        message->verdict = VERDICT_SENT;
        return 0;
    case STORED_NOT_YET:
        batch_refuse(batch, message, VERDICT_WAIT,
                     "the stream knows this event_id but has not stored an event with it yet");
        return 0;
    case STORED_ANOTHER:
        batch_refuse(batch, message, VERDICT_REJECTED,
                     "event_id collides with another event (stream %.64s, sequence %llu)",
                     nats->base.options->stream, (unsigned long long)sequence);
        return 0;
    case STORED_SILENCE:
        break;
    }
    return 1;
}

int nats_compare_duplicates(struct nats *nats, struct batch *batch, int64_t deadline_ms)
{
    enum stored found = STORED_UNREADABLE;
    int pending = 0;
    int count = 0;

    for (int i = 0; i < nats->count; i++) {
        struct message *message = &batch->messages[i];
        uint64_t sequence = nats->pending[i].sequence;

        if (nats->pending[i].state != NATS_DUPLICATE)
            continue;
        if (found != STORED_SILENCE)
            found = find(nats, batch->event_ids, message, sequence, deadline_ms);
        if (found == STORED_ALTERED && is_shared(batch, message))
            found = STORED_ANOTHER;
        pending += judge(nats, batch, message, sequence, found);
        count++;
    }
    if (count > 0)
        log_debug("nats: the stream knew the event_id of %d message%s", count, PLURAL(count));
    return pending;
}
