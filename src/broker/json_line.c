/*
 * A message as a line of JSON: {"topic","key","id","type","created_at","replayed_at","headers":{},
 * "payload"}. A member whose value is NULL is left out.
 *
 * A JSON payload is copied verbatim, except that newlines, which JSON allows only between tokens,
 * become spaces. Other UTF-8 text becomes a string, and other bytes become "payload_base64". In the
 * other members a byte that is not UTF-8 becomes U+FFFD; since they are text columns, none should
 * occur.
 */

#include "broker/json_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 4096
#define ESCAPE_BYTES_MAX 6 /* \u0000 */

static bool grow(struct json_line *line, size_t more)
{
    size_t capacity = line->capacity > 0 ? line->capacity : CAPACITY_MIN;
    char *grown;

    while (capacity - line->len <= more)
        capacity *= 2;
    grown = line->failed ? NULL : realloc(line->data, capacity);
    line->failed = grown == NULL;
    if (line->failed)
        return false;
    line->data = grown;
    line->capacity = capacity;
    return true;
}

/* A line has many small parts, so only the room is looked at. What still fits after memory was
 * short is taken away with the rest. A buffer without memory has no room, not even for nothing. */
static bool has_room(struct json_line *line, size_t more)
{
    return line->capacity - line->len > more || grow(line, more);
}

static void put(struct json_line *line, const char *data, size_t len)
{
    if (!has_room(line, len))
        return;
    memcpy(line->data + line->len, data, len);
    line->len += len;
}

static void put_byte(struct json_line *line, char byte)
{
    if (has_room(line, 1))
        line->data[line->len++] = byte;
}

/* -1: what was added since `start` is not whole, and is taken away again. */
static int conclude(struct json_line *line, size_t start)
{
    if (!line->failed)
        return 0;
    line->len = start;
    line->failed = false;
    return -1;
}

int json_line_raw(struct json_line *line, const char *data, size_t len)
{
    size_t start = line->len;

    put(line, data, len);
    return conclude(line, start);
}

static void put_escaped(struct json_line *line, unsigned char byte)
{
    static const char *const shorthand = "btnvfr"; /* 8 to 13 */
    char escape[ESCAPE_BYTES_MAX + 1];

    if (byte == '"' || byte == '\\')
        (void)snprintf(escape, sizeof escape, "\\%c", byte);
    else if (byte >= '\b' && byte <= '\r' && byte != '\v')
        (void)snprintf(escape, sizeof escape, "\\%c", shorthand[byte - '\b']);
    else
        (void)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)byte);
    put(line, escape, strlen(escape));
}

static bool is_plain(unsigned char byte)
{
    return byte >= ' ' && byte < 0x7F && byte != '"' && byte != '\\';
}

/* Adds one character that is not plain; returns the number of bytes consumed. */
static size_t put_special(struct json_line *line, const char *data, size_t len)
{
    size_t taken = text_utf8_len(data, len);

    if (taken > 1)
        put(line, data, taken);
    else if (taken == 1)
        put_escaped(line, (unsigned char)data[0]);
    else
        put(line, "\\ufffd", ESCAPE_BYTES_MAX);
    return taken > 0 ? taken : 1;
}

static void add_string(struct json_line *line, struct text text)
{
    put_byte(line, '"');
    for (size_t at = 0; at < text.len;) {
        size_t plain = at;

        while (plain < text.len && is_plain((unsigned char)text.data[plain]))
            plain++;
        put(line, text.data + at, plain - at);
        at = plain;
        if (at < text.len)
            at += put_special(line, text.data + at, text.len - at);
    }
    put_byte(line, '"');
}

static void blank(char *data, size_t len, char unwanted)
{
    const char *end = data + len;

    for (char *at = data; (at = memchr(at, unwanted, (size_t)(end - at))) != NULL; at++)
        *at = ' ';
}

static void add_json(struct json_line *line, struct text json)
{
    size_t start = line->len;

    put(line, json.data, json.len);
    if (line->failed)
        return;
    blank(line->data + start, json.len, '\n');
    blank(line->data + start, json.len, '\r');
}

/* RFC 4648, section 4. */
static void add_base64(struct json_line *line, struct text bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *data = (const unsigned char *)bytes.data;

    put_byte(line, '"');
    for (size_t at = 0; at < bytes.len; at += 3) {
        size_t left = bytes.len - at;
        unsigned group = (unsigned)data[at] << 16 | (left > 1 ? (unsigned)data[at + 1] << 8 : 0) |
                         (left > 2 ? data[at + 2] : 0u);
        char quad[4] = {digits[group >> 18], digits[group >> 12 & 63],
                        left > 1 ? digits[group >> 6 & 63] : '=',
                        left > 2 ? digits[group & 63] : '='};

        put(line, quad, sizeof quad);
    }
    put_byte(line, '"');
}

/* Each member except the first, which follows a brace, is preceded by a comma. */
static void add_name(struct json_line *line, const char *name, size_t len)
{
    if (line->len > 0 && line->data[line->len - 1] != '{')
        put_byte(line, ',');
    add_string(line, (struct text){name, len});
    put_byte(line, ':');
}

static void add_member(struct json_line *line, const char *name, struct text value)
{
    if (value.data == NULL)
        return;
    add_name(line, name, strlen(name));
    add_string(line, value);
}

static void add_headers(struct json_line *line, const struct message *message)
{
    bool any = false;

    for (int i = 0; i < message->header_count; i++) {
        const struct header *header = &message->headers[i];

        if (header->value.data == NULL)
            continue;
        if (!any) {
            add_name(line, "headers", 7);
            put_byte(line, '{');
        }
        any = true;
        add_name(line, header->name.data, header->name.len);
        add_string(line, header->value);
    }
    if (any)
        put_byte(line, '}');
}

int json_line_message(struct json_line *line, const struct message *message)
{
    struct text payload = message->payload;
    size_t start = line->len;

    put_byte(line, '{');
    add_member(line, "topic", message->destination);
    add_member(line, "key", message->route_key);
    add_member(line, "id", message->event_id);
    add_member(line, "type", message->type);
    add_member(line, "created_at", message->created_at);
    add_member(line, "replayed_at", message->replayed_at);
    add_headers(line, message);
    if (payload.data != NULL && message->payload_is_json) {
        add_name(line, "payload", 7);
        add_json(line, payload);
    } else if (payload.data != NULL && !text_is_utf8(payload.data, payload.len)) {
        add_name(line, "payload_base64", 14);
        add_base64(line, payload);
    } else {
        add_member(line, "payload", payload);
    }
    put(line, "}\n", 2);
    return conclude(line, start);
}

int json_line_event(struct json_line *line, const struct header *members, int count,
                    struct text data, enum json_data kind)
{
    size_t start = line->len;

    put_byte(line, '{');
    for (int i = 0; i < count; i++) {
        if (members[i].value.data == NULL)
            continue;
        add_name(line, members[i].name.data, members[i].name.len);
        add_string(line, members[i].value);
    }
    if (kind == JSON_DATA_JSON) {
        add_name(line, "data", 4);
        add_json(line, data);
    } else if (kind == JSON_DATA_STRING) {
        add_member(line, "data", data);
    } else if (kind == JSON_DATA_BYTES) {
        add_name(line, "data_base64", 11);
        add_base64(line, data);
    }
    put_byte(line, '}');
    return conclude(line, start);
}

void json_line_drop(struct json_line *line, size_t len)
{
    if (len == 0)
        return;
    memmove(line->data, line->data + len, line->len - len);
    line->len -= len;
}

void json_line_reset(struct json_line *line, size_t kept)
{
    line->len = 0;
    if (line->capacity > kept)
        json_line_free(line);
}

void json_line_free(struct json_line *line)
{
    free(line->data);
    *line = (struct json_line){0};
}
