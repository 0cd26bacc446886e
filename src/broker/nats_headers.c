/*
 * A message's headers: one by one, or all in one call.
 *
 * nats.c keeps headers in a hash of duplicated strings, about 25 allocations for the relay's own
 * six, and writes a name as it is: only in a value it replaces line ends by blanks. So one call
 * whose name is all headers but the last one's value, line ends included, puts the same lines on
 * the wire: the relay takes 15,000 instructions a message then instead of 24,300. Names and values
 * have been checked (core/rules.h): none holds a line end. No two have one name (outbox/row.c).
 *
 * No documentation promises that. So each broker object finds out for itself, on its first
 * connection: a message with such headers goes to the connection's own inbox, ahead of the question
 * about the stream, and must come back before that one's answer with the very headers that are set
 * one by one. Nobody waits for it. Whatever else happens (another library, a user who may not
 * publish to _INBOX) headers are set one by one, and it is not tried again: a server logs what it
 * forbids. Works with nats.c 3.4.1; libraries that mind what is in a name are in
 * tests/integration/test_nats_headers.c.
 */

#include "broker/nats.h"

#include <stdlib.h>
#include <string.h>

#define TRIAL_BYTES 512
#define TEXT(literal) ((struct text){literal, sizeof(literal) - 1})

void nats_own_headers(const struct message *message, const char *stream,
                      struct header own[NATS_OWN_HEADERS])
{
    own[0] = (struct header){TEXT("id"), message->event_id};
    own[1] = (struct header){TEXT("type"), message->type};
    own[2] = (struct header){TEXT("created_at"), message->created_at};
    own[3] = (struct header){TEXT("key"), message->route_key};
    own[4] = (struct header){TEXT("Nats-Msg-Id"), message->event_id};
    own[5] = (struct header){TEXT("Nats-Expected-Stream"), text_of(stream)};
}

static char *append(char *at, struct text text)
{
    memcpy(at, text.data, text.len);
    return at + text.len;
}

/* A terminated copy at `*at`, which moves on. */
static const char *terminate(char **at, struct text text)
{
    char *copy = *at;

    *at = append(copy, text);
    *(*at)++ = '\0';
    return copy;
}

/* The sizes have been checked: what ends a header's line is longer than two terminators. */
static natsStatus set_each(natsMsg *built, const struct header *headers, int count, char **at)
{
    natsStatus status = NATS_OK;

    for (int i = 0; status == NATS_OK && i < count; i++) {
        const char *name;

        if (headers[i].value.data == NULL)
            continue;
        name = terminate(at, headers[i].name);
        status = natsMsgHeader_Set(built, name, terminate(at, headers[i].value));
    }
    return status;
}

natsStatus nats_set_headers(natsMsg *built, const struct message *message,
                            const struct header own[NATS_OWN_HEADERS], char *strings)
{
    natsStatus status = set_each(built, own, NATS_OWN_HEADERS, &strings);

    return status == NATS_OK ? set_each(built, message->headers, message->header_count, &strings)
                             : status;
}

void nats_drop_headers(natsMsg *built, const struct header own[NATS_OWN_HEADERS])
{
    for (int i = 0; i < NATS_OWN_HEADERS; i++)
        (void)natsMsgHeader_Delete(built, own[i].name.data);
}

/* "name: value" and a line end. */
static char *append_line(char *at, const struct header *header)
{
    if (header->value.data == NULL)
        return at;
    at = append(at, header->name);
    at = append(at, TEXT(": "));
    at = append(at, header->value);
    return append(at, TEXT("\r\n"));
}

natsStatus nats_set_block(natsMsg *built, const struct message *message,
                          const struct header own[NATS_OWN_HEADERS], char *strings)
{
    const struct header *last = &own[NATS_OWN_HEADERS - 1];
    char *at = strings;

    for (int i = 0; i < NATS_OWN_HEADERS - 1; i++)
        at = append_line(at, &own[i]);
    for (int i = 0; i < message->header_count; i++)
        at = append_line(at, &message->headers[i]);
    (void)terminate(&at, last->name);
    return natsMsgHeader_Set(built, strings, last->value.data);
}

void nats_drop_block(natsMsg *built, const char *strings)
{
    (void)natsMsgHeader_Delete(built, strings);
}

/* ---- the trial ---- */

/* It has all kinds of headers, and expects a stream that there is none of: one that takes every
 * subject does not keep it. */
static natsMsg *make_trial(const char *subject, bool block)
{
    struct header added = {TEXT("x-trial"), TEXT("b\xC3\xBC\x63her: 1\t2")};
    struct message message = {.event_id = TEXT("trial"),
                              .type = TEXT("outbox-relay.trial"),
                              .created_at = TEXT("1970-01-01T00:00:00Z"),
                              .route_key = TEXT("a key"),
                              .headers = &added,
                              .header_count = 1};
    struct header own[NATS_OWN_HEADERS];
    char strings[TRIAL_BYTES];
    natsMsg *trial = NULL;
    natsStatus status = natsMsg_Create(&trial, subject, NULL, NULL, 0);

    nats_own_headers(&message, "-", own);
    if (status == NATS_OK)
        status = block ? nats_set_block(trial, &message, own, strings)
                       : nats_set_headers(trial, &message, own, strings);
    if (status == NATS_OK)
        return trial;
    natsMsg_Destroy(trial);
    return NULL;
}

void nats_try_block(struct nats *nats)
{
    char subject[NATS_REPLY_BYTES];
    natsMsg *trial;

    if (nats->block == NATS_BLOCK_WORKS || nats->block == NATS_BLOCK_REFUSED)
        return;
    nats->trial = nats->asked++;
    nats_reply_subject(nats, nats->trial, subject);
    trial = make_trial(subject, true);
    nats->block = trial != NULL ? NATS_BLOCK_TRIED : NATS_BLOCK_REFUSED;
    if (trial != NULL)
        (void)natsConnection_PublishMsg(nats->connection, trial);
    natsMsg_Destroy(trial);
}

/* Every header of `wanted`, and no other. */
static bool has_same_headers(natsMsg *heard, natsMsg *wanted)
{
    const char **names = NULL;
    const char **heard_names = NULL;
    int count = 0;
    int heard_count = 0;
    bool same = natsMsgHeader_Keys(wanted, &names, &count) == NATS_OK &&
                natsMsgHeader_Keys(heard, &heard_names, &heard_count) == NATS_OK &&
                count == heard_count;

    for (int i = 0; same && i < count; i++) {
        const char *value;
        const char *heard_value;

        same = natsMsgHeader_Get(wanted, names[i], &value) == NATS_OK &&
               natsMsgHeader_Get(heard, names[i], &heard_value) == NATS_OK &&
               strcmp(value, heard_value) == 0;
    }
    free((void *)names);
    free((void *)heard_names);
    return same;
}

void nats_hear_block(struct nats *nats, natsMsg *answer)
{
    natsMsg *wanted;

    if (nats->block != NATS_BLOCK_TRIED || nats_number_of(nats, answer) != nats->trial)
        return;
    wanted = make_trial(natsMsg_GetSubject(answer), false);
    nats->block =
        wanted != NULL && has_same_headers(answer, wanted) ? NATS_BLOCK_WORKS : NATS_BLOCK_REFUSED;
    natsMsg_Destroy(wanted);
}

void nats_end_trial(struct nats *nats)
{
    if (nats->block == NATS_BLOCK_TRIED)
        nats->block = NATS_BLOCK_REFUSED;
}
