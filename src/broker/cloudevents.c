/*
 * CloudEvents 1.0, in the binary and the structured mode of Kafka's and NATS' protocol bindings and
 * the JSON event format.
 *
 * The attributes are id (the event id), source, type, subject (the message's key), time
 * (created_at), datacontenttype, and whatever the row's headers name "ce_...", whichever the broker
 * is. The row's other headers, such as traceparent, stay as they are.
 */

#include "broker/broker.h"
#include "broker/json_line.h"

#include <jansson.h>
#include <string.h>
#include <strings.h>

#define TEXT(literal) ((struct text){literal, sizeof(literal) - 1})
#define ROW_PREFIX "ce_"
#define ROW_PREFIX_BYTES 3
#define NAME_BYTES_MAX 20 /* what the specification advises, and libraries insist on */

enum attribute { SPECVERSION, ID, SOURCE, TYPE, SUBJECT, TIME, CONTENT_TYPE, ATTRIBUTES };

#define NAMES(prefix, content_type)                                                                \
    {                                                                                              \
        prefix "specversion", prefix "id", prefix "source", prefix "type", prefix "subject",       \
            prefix "time", content_type                                                            \
    }

struct event_binding {
    const char *names[ATTRIBUTES];
    const char *prefix;
    bool percent_encodes;
};

const struct event_binding cloudevents_kafka = {NAMES("ce_", "content-type"), "ce_", false};
const struct event_binding cloudevents_nats = {NAMES("ce-", "ce-datacontenttype"), "ce-", true};
static const char *const plain_names[ATTRIBUTES] = NAMES("", "datacontenttype");

/* One event on its way; all bytes belong to the batch or to the options. */
struct event {
    const struct event_binding *binding;
    struct batch *batch;
    struct message *message;
    struct text attributes[ATTRIBUTES]; /* NULL: none */
    struct header *more;                /* further attributes, as the row names them */
    int more_count;
    struct header *others; /* headers that are no attributes */
    int other_count;
};

static bool starts_with(struct text text, const char *prefix)
{
    return text.len >= strlen(prefix) && strncasecmp(text.data, prefix, strlen(prefix)) == 0;
}

/* The specification's String: UTF-8 without control characters. */
static bool is_string(struct text text)
{
    for (size_t at = 0, step; at < text.len; at += step) {
        uint32_t code;

        step = text_utf8_len(text.data + at, text.len - at);
        if (step == 0)
            return false;
        code = text_utf8_code(text.data + at, step);
        if (code < 0x20 || (code >= 0x7F && code < 0xA0))
            return false;
    }
    return true;
}

static bool is_name(struct text name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!((name.data[i] >= 'a' && name.data[i] <= 'z') ||
              (name.data[i] >= '0' && name.data[i] <= '9')))
            return false;
    return name.len > 0 && name.len <= NAME_BYTES_MAX;
}

const char *cloudevents_name_problem(struct text name)
{
    static const char *const reasons[][2] = {
        {"specversion", "the relay sets this attribute: it is always 1.0"},
        {"id", "the relay sets this attribute: it is the event id, event_id of [outbox.columns]"},
        {"time", "the relay sets this attribute: it is created_at of [outbox.columns]"},
        {"datacontenttype", "the relay sets this attribute, by the type of the payload's column, "
                            "content_type of [cloudevents] or a row's header content-type"},
        {"data", "this is the payload, and no attribute"},
        {"data_base64", "this is the payload, and no attribute"},
    };

    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (text_equal(name, text_of(reasons[i][0])))
            return reasons[i][1];
    return is_name(name) ? NULL : "the name of an attribute is 1 to 20 of a-z and 0-9";
}

/* Of an attribute that the row gives. Returns NULL, or what is wrong with it. */
static const char *take_attribute(struct event *event, const struct header *header)
{
    struct text name = {header->name.data + ROW_PREFIX_BYTES, header->name.len - ROW_PREFIX_BYTES};

    if (!is_name(name) || text_equal(name, TEXT("data")))
        return "CloudEvents: a header ce_... is no name of an attribute: 1 to 20 of a-z and 0-9";
    for (int i = 0; i < ATTRIBUTES; i++) {
        if (!text_equal(name, text_of(plain_names[i])))
            continue;
        if (i != SOURCE && i != TYPE && i != SUBJECT)
            return "CloudEvents: a row's headers may have no ce_specversion, ce_id, ce_time and "
                   "ce_datacontenttype: the relay sets them, the last by the header content-type";
        event->attributes[i] = header->value;
        return NULL;
    }
    event->more[event->more_count++] = *header;
    return NULL;
}

static const char *take_headers(struct event *event)
{
    const struct message *message = event->message;
    const char *problem = NULL;

    for (int i = 0; problem == NULL && i < message->header_count; i++) {
        const struct header *header = &message->headers[i];
        bool is_type = header->name.len == 12 && starts_with(header->name, "content-type");

        if (header->value.data == NULL && (is_type || starts_with(header->name, ROW_PREFIX)))
            continue;
        if (is_type && starts_with(header->value, "application/cloudevents"))
            return "CloudEvents: the header content-type says that the payload is an event already";
        if (is_type)
            event->attributes[CONTENT_TYPE] = header->value;
        else if (header->name.len >= ROW_PREFIX_BYTES &&
                 memcmp(header->name.data, ROW_PREFIX, ROW_PREFIX_BYTES) == 0)
            problem = take_attribute(event, header);
        else if (starts_with(header->name, event->binding->prefix))
            return "CloudEvents: a row's headers name attributes ce_..., for every broker";
        else
            event->others[event->other_count++] = *header;
    }
    return problem;
}

static void set_default(struct text *value, const char *constant)
{
    if (value->len == 0)
        *value = constant != NULL ? text_of(constant) : (struct text){NULL, 0};
}

static void fill(struct event *event, const struct sink_options *options)
{
    const struct message *message = event->message;
    struct text *attributes = event->attributes;

    attributes[SPECVERSION] = TEXT("1.0");
    attributes[ID] = message->event_id;
    set_default(&attributes[SOURCE], options->event_source);
    if (attributes[TYPE].data == NULL)
        attributes[TYPE] = message->type;
    set_default(&attributes[TYPE], options->event_type);
    if (attributes[SUBJECT].data == NULL)
        attributes[SUBJECT] = message->route_key;
    set_default(&attributes[SUBJECT], NULL);
    attributes[TIME] = message->created_at;
    set_default(&attributes[CONTENT_TYPE],
                message->payload_is_json ? "application/json" : options->event_content_type);
}

static const char *check(const struct event *event)
{
    const char *problem = NULL;

    if (event->attributes[ID].len == 0)
        return "CloudEvents: the event id is empty";
    if (event->attributes[TYPE].len == 0)
        return "CloudEvents: the row has no type";
    for (int i = 0; i < ATTRIBUTES; i++)
        if (!is_string(event->attributes[i]))
            problem = i == SUBJECT ? "CloudEvents: the key, which is the subject, is not UTF-8, or "
                                     "has a control character"
                                   : "CloudEvents: an attribute has a control character";
    for (int i = 0; i < event->more_count; i++)
        if (!is_string(event->more[i].value))
            problem = "CloudEvents: an attribute in the headers has a control character";
    return problem;
}

/* ---- binary mode ---- */

static bool is_plain(char c)
{
    return c > ' ' && c < 0x7F && c != '"' && c != '%';
}

static struct text percent_encode(struct batch *batch, struct text value)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t plain = 0;
    char *encoded;
    char *at;

    while (plain < value.len && is_plain(value.data[plain]))
        plain++;
    if (plain == value.len)
        return value;
    encoded = batch_alloc(batch, 3 * value.len);
    if (encoded == NULL)
        return (struct text){NULL, 0};
    at = encoded;
    for (size_t i = 0; i < value.len; i++) {
        unsigned char byte = (unsigned char)value.data[i];

        if (is_plain(value.data[i])) {
            *at++ = value.data[i];
            continue;
        }
        *at++ = '%';
        *at++ = digits[byte >> 4];
        *at++ = digits[byte & 15];
    }
    return (struct text){encoded, (size_t)(at - encoded)};
}

/* False: out of memory. */
static bool add_header(const struct event *event, struct header *headers, int *count,
                       struct text name, struct text value)
{
    if (value.data == NULL)
        return true;
    if (event->binding->percent_encodes)
        value = percent_encode(event->batch, value);
    headers[(*count)++] = (struct header){name, value};
    return name.data != NULL && value.data != NULL;
}

/* The row's spelling of a name, or the broker's. */
static struct text broker_name(const struct event *event, struct text name)
{
    const char *prefix = event->binding->prefix;
    char *copy;

    if (memcmp(name.data, prefix, ROW_PREFIX_BYTES) == 0)
        return name;
    copy = batch_alloc(event->batch, name.len + 1);
    if (copy == NULL)
        return (struct text){NULL, 0};
    memcpy(copy, prefix, ROW_PREFIX_BYTES);
    memcpy(copy + ROW_PREFIX_BYTES, name.data + ROW_PREFIX_BYTES, name.len - ROW_PREFIX_BYTES);
    copy[name.len] = '\0';
    return (struct text){copy, name.len};
}

/* False: out of memory. */
static bool put_attributes(const struct event *event, struct header *headers, int *count)
{
    for (int i = 0; i < ATTRIBUTES; i++)
        if (!add_header(event, headers, count, text_of(event->binding->names[i]),
                        event->attributes[i]))
            return false;
    for (int i = 0; i < event->more_count; i++)
        if (!add_header(event, headers, count, broker_name(event, event->more[i].name),
                        event->more[i].value))
            return false;
    return true;
}

/* ---- structured mode ---- */

/* A media type whose subtype is json or ends in +json. */
static bool is_json_type(struct text type)
{
    size_t len = 0;

    while (len < type.len && type.data[len] != ';')
        len++;
    while (len > 0 && type.data[len - 1] == ' ')
        len--;
    return len >= 5 && (strncasecmp(type.data + len - 5, "/json", 5) == 0 ||
                        strncasecmp(type.data + len - 5, "+json", 5) == 0);
}

static bool is_json(struct text payload)
{
    json_t *root = json_loadb(payload.data, payload.len,
                              JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
    bool valid = root != NULL;

    json_decref(root);
    return valid;
}

/* Without a type, data are JSON by the format's rules, and a text is a string of JSON. */
static enum json_data data_of(const struct event *event)
{
    const struct message *message = event->message;
    struct text type = event->attributes[CONTENT_TYPE];
    bool says_json = type.data == NULL || is_json_type(type);

    if (message->payload.data == NULL)
        return JSON_DATA_NONE;
    if (says_json && (message->payload_is_json || is_json(message->payload)))
        return JSON_DATA_JSON;
    if ((says_json && type.data != NULL) ||
        !text_is_utf8(message->payload.data, message->payload.len))
        return JSON_DATA_BYTES;
    return JSON_DATA_STRING;
}

/* False: out of memory. */
static bool put_body(const struct event *event, struct json_line *line, struct text *body)
{
    struct header *members =
        batch_alloc(event->batch, ((size_t)event->more_count + ATTRIBUTES) * sizeof *members);
    int count = 0;

    if (members == NULL)
        return false;
    for (int i = 0; i < ATTRIBUTES; i++)
        members[count++] = (struct header){text_of(plain_names[i]), event->attributes[i]};
    for (int i = 0; i < event->more_count; i++) {
        struct text name = event->more[i].name;

        members[count++] = (struct header){
            {name.data + ROW_PREFIX_BYTES, name.len - ROW_PREFIX_BYTES}, event->more[i].value};
    }
    json_line_reset(line, SIZE_MAX);
    if (json_line_event(line, members, count, event->message->payload, data_of(event)) < 0)
        return false;
    *body = batch_copy(event->batch, line->data, line->len);
    return body->data != NULL;
}

/* False: out of memory. */
static bool put(const struct event *event, bool structured, struct json_line *line)
{
    struct message *message = event->message;
    struct header *headers = batch_alloc(
        event->batch,
        ((size_t)event->more_count + (size_t)event->other_count + ATTRIBUTES) * sizeof *headers);
    struct text body = message->payload;
    int count = 0;

    if (headers == NULL)
        return false;
    if (structured)
        headers[count++] = (struct header){TEXT("content-type"),
                                           TEXT("application/cloudevents+json; charset=UTF-8")};
    if (structured ? !put_body(event, line, &body) : !put_attributes(event, headers, &count))
        return false;
    for (int i = 0; i < event->other_count; i++)
        headers[count++] = event->others[i];
    message->headers = headers;
    message->header_count = count;
    message->payload = body;
    if (body.data != NULL)
        message->payload_len = (int64_t)body.len;
    return true;
}

static void wrap(const struct sink_options *options, const struct event_binding *binding,
                 struct batch *batch, struct message *message, struct json_line *line)
{
    struct event event = {.binding = binding, .batch = batch, .message = message};
    size_t bytes = ((size_t)message->header_count + 1) * sizeof *event.more;
    const char *problem;

    event.more = batch_alloc(batch, bytes);
    event.others = batch_alloc(batch, bytes);
    if (event.more == NULL || event.others == NULL) {
        batch_refuse(batch, message, VERDICT_WAIT, "out of memory");
        return;
    }
    problem = take_headers(&event);
    if (problem == NULL) {
        fill(&event, options);
        problem = check(&event);
    }
    if (problem != NULL)
        batch_refuse(batch, message, VERDICT_REJECTED, "%s", problem);
    else if (!put(&event, options->cloudevents == CLOUDEVENTS_STRUCTURED, line))
        batch_refuse(batch, message, VERDICT_WAIT, "out of memory");
}

void broker_wrap(const struct broker *broker, struct batch *batch, int sink)
{
    struct json_line line = {0};

    if (broker->options->cloudevents == CLOUDEVENTS_OFF || broker->ops->events == NULL)
        return;
    for (int i = 0; i < batch->count; i++) {
        struct message *message = &batch->messages[i];
        bool too_large = message->payload.data == NULL && message->payload_len >= 0;

        /* A payload that was too large to fetch is refused by the client, with its size. */
        if (message->sink == sink && message->verdict == VERDICT_PENDING && !too_large)
            wrap(broker->options, broker->ops->events, batch, message, &line);
    }
    json_line_free(&line);
}
