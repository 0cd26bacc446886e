#ifndef OUTBOX_ROW_H
#define OUTBOX_ROW_H

#include "message/batch.h"

/* Converts values from PostgreSQL's formats to those of a message. No I/O. */

#define ROW_UUID_BYTES 37 /* with its NUL */

/* Formats the 16 bytes of a uuid as PostgreSQL does. */
void row_uuid(char out[ROW_UUID_BYTES], const char *wire);

/* The one result of row_headers() that is not about the row. */
extern const char row_no_memory[];

/*
 * Turns a flat JSON object of scalars into headers, in the batch's memory. Numbers and booleans
 * become text, and a null makes no header. Returns NULL, or a constant text that says what is
 * wrong; then the message has no headers.
 */
const char *row_headers(struct message *message, struct text json, struct batch *batch);

/*
 * Adds the headers of a bytea[] with names and values in turn, in place of any of the same name. A
 * NULL value makes no header. They point into the array. Returns NULL, or row_no_memory.
 */
const char *row_more_headers(struct message *message, struct text array, struct batch *batch);

#define ROW_EPOCH_US INT64_C(946684800000000) /* 2000-01-01, from which PostgreSQL counts */
#define ROW_TIME_BYTES 40

/* Formats a timestamptz (microseconds since 2000-01-01 UTC) as RFC 3339 with microseconds. Returns
 * the length; 0 for the infinities and for years that RFC 3339 cannot express. */
size_t row_time(char out[ROW_TIME_BYTES], int64_t microseconds);

/* A ctid from "(BLOCK,OFFSET)" to PostgreSQL's binary format. */
void row_place(unsigned char place[MESSAGE_ROW_BYTES], const char *text);

#endif
