#ifndef BROKER_JSON_LINE_H
#define BROKER_JSON_LINE_H

#include "message/message.h"

/* A buffer of lines, each one JSON object (RFC 8259) with a newline at its end and nowhere else. */
struct json_line {
    char *data; /* owned */
    size_t len;
    size_t capacity;
};

/* Adds a message's line whole, or nothing and -1 when there is no memory. */
int json_line_message(struct json_line *line, const struct message *message);
/* Adds bytes as they are. */
int json_line_raw(struct json_line *line, const char *data, size_t len);

/* Removes the first `len` bytes. */
void json_line_drop(struct json_line *line, size_t len);
/* Empties it; gives back memory beyond `kept` bytes. */
void json_line_reset(struct json_line *line, size_t kept);
void json_line_free(struct json_line *line);

#endif
