#ifndef BROKER_JSON_LINE_H
#define BROKER_JSON_LINE_H

#include "message/message.h"

/* A buffer of lines. Each is one JSON object (RFC 8259) and contains no newline except at its
 * end. */
struct json_line {
    char *data; /* owned */
    size_t len;
    size_t capacity;
    bool failed; /* memory was short, and something is missing */
};

/* Adds the message's whole line, or nothing and returns -1 when out of memory. */
int json_line_message(struct json_line *line, const struct message *message);
/* What the member "data" of a CloudEvent is. */
enum json_data { JSON_DATA_NONE, JSON_DATA_JSON, JSON_DATA_STRING, JSON_DATA_BYTES };
/* Adds an object of these members, without those whose value is NULL, and of the data; without a
 * newline. -1 as above. */
int json_line_event(struct json_line *line, const struct header *members, int count,
                    struct text data, enum json_data kind);
/* Adds the bytes unchanged. */
int json_line_raw(struct json_line *line, const char *data, size_t len);

/* Removes the first `len` bytes. */
void json_line_drop(struct json_line *line, size_t len);
/* Empties the buffer, and frees its memory when that is more than `kept` bytes. */
void json_line_reset(struct json_line *line, size_t kept);
void json_line_free(struct json_line *line);

#endif
