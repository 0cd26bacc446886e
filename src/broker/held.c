/* Finds the event to which a broker's message belongs. */

#include "broker/broker.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct text header_of(const struct held *held, struct text name)
{
    for (int i = 0; name.data != NULL && i < held->header_count; i++)
        if (held->headers[i].name.len == name.len &&
            strncasecmp(held->headers[i].name.data, name.data, name.len) == 0)
            return held->headers[i].value;
    return (struct text){NULL, 0};
}

/* The attributes of a structured CloudEvent, without the data, which the relay writes last: JSON of
 * PostgreSQL may have what jansson refuses, such as 1e400. NULL: it is none. */
static json_t *load_attributes(struct text payload)
{
    static const char *const ends[] = {",\"data\":", ",\"data_base64\":"};
    const char *end = NULL;
    json_t *event;
    char *text;
    size_t len;

    for (size_t i = 0; i < sizeof ends / sizeof *ends && end == NULL; i++)
        end = memmem(payload.data, payload.len, ends[i], strlen(ends[i]));
    len = end != NULL ? (size_t)(end - payload.data) : payload.len;
    text = malloc(len + 1);
    if (text == NULL)
        return NULL;
    memcpy(text, payload.data, len);
    text[len] = '}';
    event = json_loadb(text, end != NULL ? len + 1 : len, 0, NULL);
    free(text);
    return event;
}

/* The member "id" of a structured CloudEvent, copied into the buffer. */
static struct text id_in_json(struct text payload, char *buffer, size_t size)
{
    json_t *event = load_attributes(payload);
    json_t *id = json_object_get(event, "id");
    struct text text = {NULL, 0};

    if (json_is_string(id) && json_string_length(id) <= size) {
        text = (struct text){buffer, json_string_length(id)};
        memcpy(buffer, json_string_value(id), text.len);
    }
    json_decref(event);
    return text;
}

/* In either mode: the sink may have had the other one before. */
static struct text id_of_event(const struct held *held, char *buffer, size_t size)
{
    struct text id = header_of(held, text_of("ce_id"));

    return id.data == NULL && held->payload.data != NULL ? id_in_json(held->payload, buffer, size)
                                                         : id;
}

/* On NATS it is in Nats-Msg-Id, too. */
bool held_has_id(const struct broker *broker)
{
    return broker->headers.own[OWN_ID].data != NULL ||
           broker->options->cloudevents != CLOUDEVENTS_OFF ||
           strcmp(broker->options->type, "nats") == 0;
}

void held_identify(const struct broker *broker, struct held *held, struct text own_id, char *buffer,
                   size_t size)
{
    const struct text *own = broker->headers.own;
    struct text replayed_at = header_of(held, own[OWN_REPLAYED_AT]);
    struct text id = header_of(held, own[OWN_ID]);

    if (id.data == NULL && broker->options->cloudevents != CLOUDEVENTS_OFF)
        id = id_of_event(held, buffer, size);
    held->event_id = id.data != NULL && own_id.data == NULL ? id : own_id;
    held->is_replayed = replayed_at.data != NULL;
    /* A broker's id of such a message is "EVENT_ID/REPLAYED_AT". */
    if (replayed_at.data != NULL && own_id.len > replayed_at.len &&
        own_id.data[own_id.len - replayed_at.len - 1] == '/' &&
        memcmp(own_id.data + own_id.len - replayed_at.len, replayed_at.data, replayed_at.len) == 0)
        held->event_id.len -= replayed_at.len + 1;
    else if (id.data != NULL && own_id.len > id.len + 1 && own_id.data[id.len] == '/' &&
             memcmp(own_id.data, id.data, id.len) == 0) {
        held->event_id = id;
        held->is_replayed = true;
    }
}
