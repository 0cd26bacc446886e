/*
 * A stored message, as the server describes it in JSON. Its headers are read without the library's
 * parser, which takes the line behind an empty value for the value (nats.c 3.4.1).
 */

#include "broker/nats/nats.h"

#include <stdlib.h>
#include <string.h>

char *nats_decode(const char *text, size_t *len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t text_len = strlen(text);
    char *bytes = malloc(text_len / 4 * 3 + 4);
    unsigned bits = 0;

    *len = 0;
    if (bytes == NULL)
        return NULL;
    for (size_t i = 0; i < text_len; i++) {
        const char *digit = strchr(digits, text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i]);

        if (digit == NULL)
            break;
        bits = bits << 6 | (unsigned)(digit - digits);
        if (i % 4 > 0)
            bytes[(*len)++] = (char)(bits >> (6 - 2 * (i % 4)) & 0xFF);
    }
    bytes[*len] = '\0';
    return bytes;
}

static struct text trim(char *from, char *to)
{
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
        to--;
    return (struct text){from, (size_t)(to - from)};
}

/* The lines behind the first one, "NATS/1.0". Too many are none. */
static void read_headers(struct nats_stored *stored)
{
    char *line = strstr(stored->block, "\r\n");

    while (line != NULL) {
        char *end = strstr(line += 2, "\r\n");
        char *colon = strchr(line, ':');

        if (end == NULL || colon == NULL || colon > end)
            break;
        if (stored->header_count == NATS_STORED_HEADERS_MAX) {
            stored->header_count = 0;
            return;
        }
        stored->headers[stored->header_count++] =
            (struct header){{line, (size_t)(colon - line)}, trim(colon + 1, end)};
        line = end;
    }
}

static char *decoded(const json_t *message, const char *name, size_t *len)
{
    const char *text = json_string_value(json_object_get(message, name));

    return nats_decode(text != NULL ? text : "", len);
}

int nats_stored_open(struct nats_stored *stored, const json_t *message)
{
    const char *subject = json_string_value(json_object_get(message, "subject"));
    size_t block_len;

    stored->header_count = 0;
    stored->subject = strdup(subject != NULL ? subject : "");
    stored->payload = decoded(message, "data", &stored->payload_len);
    stored->block = decoded(message, "hdrs", &block_len);
    if (stored->subject == NULL || stored->payload == NULL || stored->block == NULL) {
        nats_stored_close(stored);
        return -1;
    }
    read_headers(stored);
    return 0;
}

void nats_stored_close(struct nats_stored *stored)
{
    free(stored->subject);
    free(stored->payload);
    free(stored->block);
}
