/*
 * One message as one line, escaped as PostgreSQL's COPY text format wants it, so that the audit can
 * load any bytes and compare them with the rows. Bytes from 0x80 pass through unchecked.
 */

#define _POSIX_C_SOURCE 200809L

#include "reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *others;
static size_t others_size, others_room;
static int64_t emitted;

static void put_byte(unsigned char byte)
{
    switch (byte) {
    case '\\':
        fputs("\\\\", stdout);
        return;
    case '\t':
        fputs("\\t", stdout);
        return;
    case '\n':
        fputs("\\n", stdout);
        return;
    case '\r':
        fputs("\\r", stdout);
        return;
    default:
        break;
    }
    if (byte < 0x20 || byte == 0x7f)
        printf("\\x%02X", byte);
    else
        putc_unlocked(byte, stdout);
}

static bool plain(unsigned char byte)
{
    return byte >= 0x20 && byte != '\\' && byte != 0x7f;
}

/* In runs: most bytes need no escape, and a reader slower than the relay would be of no use. */
static void put_bytes(const char *data, size_t size)
{
    size_t from = 0;

    for (size_t i = 0; i < size; i++) {
        if (plain((unsigned char)data[i]))
            continue;
        fwrite(data + from, 1, i - from, stdout);
        put_byte((unsigned char)data[i]);
        from = i + 1;
    }
    fwrite(data + from, 1, size - from, stdout);
}

static void put_field(struct field field)
{
    putc_unlocked('\t', stdout);
    if (field.data)
        put_bytes(field.data, field.size);
    else
        fputs("\\N", stdout);
}

static void append_raw(const char *data, size_t size)
{
    if (others_size + size > others_room) {
        others_room = (others_size + size) * 2;
        others = realloc(others, others_room);
        if (!others)
            die("out of memory");
    }
    memcpy(others + others_size, data, size);
    others_size += size;
}

static void append_encoded(const char *data, size_t size)
{
    char code[4];

    for (size_t i = 0; i < size; i++) {
        if (!strchr("%&=", data[i]) || !data[i]) {
            append_raw(data + i, 1);
            continue;
        }
        snprintf(code, sizeof code, "%%%02X", (unsigned char)data[i]);
        append_raw(code, 3);
    }
}

static struct field *known_field(struct message *message, const char *name)
{
    if (strcmp(name, "id") == 0)
        return &message->id;
    if (strcmp(name, "type") == 0)
        return &message->type;
    if (strcmp(name, "created_at") == 0)
        return &message->created_at;
    if (strcmp(name, "Nats-Msg-Id") == 0)
        return &message->message_id;
    return NULL;
}

void message_begin(struct message *message)
{
    *message = (struct message){0};
    others_size = 0;
}

void message_header(struct message *message, const char *name, struct field value)
{
    struct field *known = known_field(message, name);

    if (known && !known->data && value.data) {
        *known = value;
        return;
    }
    if (others_size)
        append_raw("&", 1);
    append_encoded(name, strlen(name));
    if (value.data) {
        append_raw("=", 1);
        append_encoded(value.data, value.size);
    }
}

int64_t message_emit(const struct options *options, const struct message *message)
{
    emitted++;
    if (options->count)
        return emitted;
    printf("%lld\t", (long long)emitted);
    put_bytes(message->destination, strlen(message->destination));
    printf("\t%d\t%lld", message->partition, (long long)message->position);
    put_field(message->key);
    put_field(message->id);
    put_field(message->type);
    put_field(message->created_at);
    put_field(message->message_id.data ? message->message_id : (struct field){"", 0});
    put_field((struct field){others_size ? others : "", others_size});
    put_field(message->payload);
    printf("\t%lld", (long long)message->stored_ms);
    putc_unlocked('\n', stdout);
    return emitted;
}

void output_finish(const struct options *options)
{
    if (options->count)
        printf("%lld\n", (long long)emitted);
    free(others);
}
