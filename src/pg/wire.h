#ifndef PG_WIRE_H
#define PG_WIRE_H

#include "base/error.h"
#include "base/text.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- results: values in PostgreSQL's wire formats are decoded */

/* Whether the first columns of a statement's result have these names: its SQL and the enum by which
 * its columns are read are changed together, or nothing is read. Returns 0, or -1 with *error set.
 */
int wire_check_columns(const PGresult *result, const char *const *names, int count,
                       struct error *error);

/* Big-endian integers of the binary protocol. */
int32_t wire_int4(const char *wire);
int64_t wire_int8(const char *wire);

/* An integer in text format. The text must be PostgreSQL's own output: it is not checked. */
int64_t wire_integer(struct text text);
/* The bytes of a bytea in text format; free() them. NULL: no memory. */
char *wire_bytea(const char *text, size_t *len);

/* Takes the next element of a bytea[] in binary format. `*at` is 0 before the first, and then the
 * offset of the next. Of NULL data is NULL. Returns false after the last, and for an array that is
 * no such one. */
bool wire_next_element(struct text array, size_t *at, struct text *element);

/* ---- parameters: arrays */

/*
 * One-dimensional arrays in PostgreSQL's binary format (src/backend/utils/adt/arrayfuncs.c,
 * array_recv): a header of five int32 (three for an empty array), then the length and the bytes of
 * each element. Integers are big-endian.
 */

struct array {
    char *bytes; /* the caller's memory; NULL: out of memory */
    size_t len;
    size_t size;
};

/* OIDs of the element types used here (pg_type.dat). */
enum { ARRAY_INT8 = 20, ARRAY_INT4 = 23, ARRAY_TEXT = 25, ARRAY_TID = 27, ARRAY_XID8 = 5069 };

/* The memory that an array of `count` elements takes, with `element_bytes` in all. */
size_t array_size(int count, size_t element_bytes);
/* Starts it. `memory` is of that size, and outlives the array; with NULL nothing is added. */
void array_begin(struct array *array, void *memory, uint32_t element_oid, int count,
                 size_t element_bytes);
void array_add(struct array *array, const void *bytes, size_t len);
void array_add_null(struct array *array);
void array_add_int4(struct array *array, int32_t value);
void array_add_int8(struct array *array, int64_t value);

#endif
