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

static int reserve(struct json_line *line, size_t more)
{
    size_t capacity = line->capacity > 0 ? line->capacity : CAPACITY_MIN;
    char *grown;

    if (line->capacity - line->len >= more)
        return 0;
    while (capacity - line->len < more)
        capacity *= 2;
    grown = realloc(line->data, capacity);
    if (grown == NULL)
        return -1;
    line->data = grown;
    line->capacity = capacity;
    return 0;
}

/* The caller has reserved the space. */
static void put(struct json_line *line, const char *data, size_t len)
{
    memcpy(line->data + line->len, data, len);
    line->len += len;
}

int json_line_raw(struct json_line *line, const char *data, size_t len)
{
    if (reserve(line, len) < 0)
        return -1;
    put(line, data, len);
    return 0;
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

static int add_string(struct json_line *line, struct text text)
{
    if (reserve(line, text.len * ESCAPE_BYTES_MAX + 2) < 0)
        return -1;
    put(line, "\"", 1);
    for (size_t at = 0; at < text.len;) {
        size_t plain = at;

        while (plain < text.len && is_plain((unsigned char)text.data[plain]))
            plain++;
        put(line, text.data + at, plain - at);
        at = plain;
        if (at < text.len)
            at += put_special(line, text.data + at, text.len - at);
    }
    put(line, "\"", 1);
    return 0;
}

static void blank(char *data, size_t len, char unwanted)
{
    const char *end = data + len;

    for (char *at = data; (at = memchr(at, unwanted, (size_t)(end - at))) != NULL; at++)
        *at = ' ';
}

static int add_json(struct json_line *line, struct text json)
{
    size_t start = line->len;

    if (json_line_raw(line, json.data, json.len) < 0)
        return -1;
    blank(line->data + start, json.len, '\n');
    blank(line->data + start, json.len, '\r');
    return 0;
}

/* RFC 4648, section 4. */
static int add_base64(struct json_line *line, struct text bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *data = (const unsigned char *)bytes.data;

    if (reserve(line, (bytes.len + 2) / 3 * 4 + 2) < 0)
        return -1;
    put(line, "\"", 1);
    for (size_t at = 0; at < bytes.len; at += 3) {
        size_t left = bytes.len - at;
        unsigned group = (unsigned)data[at] << 16 | (left > 1 ? (unsigned)data[at + 1] << 8 : 0) |
                         (left > 2 ? data[at + 2] : 0u);
        char quad[4] = {digits[group >> 18], digits[group >> 12 & 63],
                        left > 1 ? digits[group >> 6 & 63] : '=',
                        left > 2 ? digits[group & 63] : '='};

        put(line, quad, sizeof quad);
    }
    put(line, "\"", 1);
    return 0;
}

/* Each member except the first, which follows a brace, is preceded by a comma. */
static int add_name(struct json_line *line, struct text name)
{
    if (line->data[line->len - 1] != '{' && json_line_raw(line, ",", 1) < 0)
        return -1;
    if (add_string(line, name) < 0)
        return -1;
    return json_line_raw(line, ":", 1);
}

static int add_member(struct json_line *line, struct text name, struct text value)
{
    if (value.data == NULL)
        return 0;
    return add_name(line, name) < 0 ? -1 : add_string(line, value);
}

static int add_headers(struct json_line *line, const struct message *message)
{
    if (message->header_count == 0)
        return 0;
    if (add_name(line, text_of("headers")) < 0 || json_line_raw(line, "{", 1) < 0)
        return -1;
    for (int i = 0; i < message->header_count; i++)
        if (add_member(line, message->headers[i].name, message->headers[i].value) < 0)
            return -1;
    return json_line_raw(line, "}", 1);
}

static int add_payload(struct json_line *line, const struct message *message)
{
    struct text payload = message->payload;

    if (payload.data == NULL)
        return 0;
    if (message->payload_is_json)
        return add_name(line, text_of("payload")) < 0 ? -1 : add_json(line, payload);
    if (text_is_utf8(payload.data, payload.len))
        return add_member(line, text_of("payload"), payload);
    return add_name(line, text_of("payload_base64")) < 0 ? -1 : add_base64(line, payload);
}

static int add_object(struct json_line *line, const struct message *message)
{
    if (json_line_raw(line, "{", 1) < 0 ||
        add_member(line, text_of("topic"), message->destination) < 0 ||
        add_member(line, text_of("key"), message->route_key) < 0 ||
        add_member(line, text_of("id"), message->event_id) < 0 ||
        add_member(line, text_of("type"), message->type) < 0 ||
        add_member(line, text_of("created_at"), message->created_at) < 0 ||
        add_member(line, text_of("replayed_at"), message->replayed_at) < 0 ||
        add_headers(line, message) < 0 || add_payload(line, message) < 0)
        return -1;
    return json_line_raw(line, "}\n", 2);
}

int json_line_message(struct json_line *line, const struct message *message)
{
    size_t start = line->len;

    if (add_object(line, message) == 0)
        return 0;
    line->len = start;
    return -1;
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
