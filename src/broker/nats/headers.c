/*
 * A message's headers, set one by one or all in one call.
 *
 * nats.c keeps headers in a hash of duplicated strings, which costs about 25 allocations for the
 * six of its own that the relay usually sends. It replaces line ends by blanks in a header's value
 * but not in its name. So a single header whose "name" is the text of all headers up to the last
 * value puts the same bytes on the wire: the relay then executes 15,000 instructions per message
 * instead of 24,300. Names and values have been checked (route/rules.h) and contain no line end,
 * and no two headers have the same name (outbox/row.c).
 *
 * The library does not document this behaviour. It is used only with those versions for which
 * tests/integration/test_nats_headers.c has passed (3.4.1, 3.10.1 and 3.14.0, by `make
 * test-debian`); with any other version, headers are set one by one.
 */

#include "broker/nats/nats.h"

#include <stdio.h>
#include <string.h>

#define TEXT(literal) ((struct text){literal, sizeof(literal) - 1})

void nats_own_headers(const struct broker *broker, const struct message *message,
                      struct header own[NATS_OWN_HEADERS])
{
    struct text id = message->message_id.data != NULL ? message->message_id : message->event_id;

    sink_own_headers(&broker->headers, message, own);
    own[OWN_HEADERS] = (struct header){TEXT("Nats-Msg-Id"), id};
    for (int i = OWN_HEADERS + 1; i < NATS_OWN_HEADERS - 1; i++)
        own[i] = (struct header){.value = {NULL, 0}};
    own[NATS_OWN_HEADERS - 1] =
        (struct header){TEXT("Nats-Expected-Stream"), text_of(broker->options->stream)};
}

void nats_batch_headers(struct header own[NATS_OWN_HEADERS], const char *id, int number,
                        bool is_last, char digits[12])
{
    (void)snprintf(digits, 12, "%d", number);
    own[OWN_HEADERS + 1] = (struct header){TEXT("Nats-Batch-Id"), text_of(id)};
    own[OWN_HEADERS + 2] = (struct header){TEXT("Nats-Batch-Sequence"), text_of(digits)};
    if (is_last)
        own[OWN_HEADERS + 3] = (struct header){TEXT("Nats-Batch-Commit"), TEXT("1")};
}

static char *append(char *at, struct text text)
{
    memcpy(at, text.data, text.len);
    return at + text.len;
}

/* Writes a terminated copy at `*at`, moves `*at` past it and returns the copy. */
static const char *terminate(char **at, struct text text)
{
    char *copy = *at;

    *at = append(copy, text);
    *(*at)++ = '\0';
    return copy;
}

/* The buffer is large enough: check_size() counts four bytes (": " and CRLF) per header, and the
 * two terminators need only two. */
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
        if (own[i].value.data != NULL)
            (void)natsMsgHeader_Delete(built, own[i].name.data);
}

/* Appends "name: value\r\n"; nothing when the value is NULL. */
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

natsMsg *nats_build(const struct message *message, const struct header own[NATS_OWN_HEADERS],
                    const char *reply, bool block, char *scratch)
{
    natsMsg *built = NULL;
    natsStatus status;

    memcpy(scratch, message->destination.data, message->destination.len);
    scratch[message->destination.len] = '\0';
    if (natsMsg_Create(&built, scratch, reply, message->payload.data, (int)message->payload.len) !=
        NATS_OK)
        return NULL;
    status = block ? nats_set_block(built, message, own, scratch)
                   : nats_set_headers(built, message, own, scratch);
    if (status == NATS_OK)
        return built;
    natsMsg_Destroy(built);
    return NULL;
}

bool nats_one_call_works(void)
{
    uint32_t version = nats_GetVersionNumber();

    return version == 0x030401 || version == 0x030A01 || version == 0x030E00;
}
