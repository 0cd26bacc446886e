#ifndef OUTBOX_ROW_H
#define OUTBOX_ROW_H

#include "message/batch.h"

/* The pure half of reading rows: what PostgreSQL sends -> what a message holds. */

#define ROW_UUID_BYTES 37 /* with its NUL */

/* 16 bytes -> as PostgreSQL writes a uuid. */
void row_uuid(char out[ROW_UUID_BYTES], const char *wire);

/* The one answer of row_headers that says nothing about the row. */
extern const char row_no_memory[];

/*
 * A flat JSON object of scalars -> headers, in the batch's memory: strings as they are, numbers and
 * booleans as text, null makes no header. Returns NULL, or a constant text that says what is wrong;
 * then the message has no headers.
 */
const char *row_headers(struct message *message, struct text json, struct batch *batch);

#define ROW_EPOCH_US INT64_C(946684800000000) /* 2000-01-01, from which PostgreSQL counts */
#define ROW_TIME_BYTES 40

/* Microseconds since 2000-01-01 UTC (timestamptz) -> RFC 3339 with microseconds. Returns the
 * length; 0 for the infinities and for years that RFC 3339 cannot write. */
size_t row_time(char out[ROW_TIME_BYTES], int64_t microseconds);

#endif
