#ifndef CATALOG_SQL_TEXT_H
#define CATALOG_SQL_TEXT_H

#include "catalog/table.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Statements are built in memory streams. A failed write is detected when the stream is closed. */
struct writer {
    FILE *out;
    char *text;
    size_t len;
};

static inline bool writer_begin(struct writer *writer)
{
    *writer = (struct writer){0};
    writer->out = open_memstream(&writer->text, &writer->len);
    return writer->out != NULL;
}

/* Returns the text; free() it. NULL: no memory. */
static inline char *writer_end(struct writer *writer)
{
    if (fclose(writer->out) == 0)
        return writer->text;
    free(writer->text);
    return NULL;
}

/* Appends the expression for a row's slice, from 0: the hash of its key, or of its id when the key
 * is NULL, modulo `slices`. The claim index is on this expression. `parked`: for a parked row. */
void sql_put_slice(FILE *out, const struct table *table, int slices, bool parked);
/* The same for an outbox row in a printed statement, which must not depend on search_path. */
void sql_put_slice_in_full(FILE *out, const struct table *table, int slices);

/* The prefix of a type name in a printed statement: "pg_catalog.", or "" for a qualified name and
 * for a type that is a keyword of the grammar. */
const char *sql_type_schema(const char *type);

/* A text[] literal. NULL: no memory. free() it. */
char *sql_text_array(const char *const *words, int count);

/* Whether an expression as shown by pg_get_indexdef(..., pretty) is the one that was written.
 * Ignores spaces, quotes, the schema pg_catalog, and casts to text and bigint, which PostgreSQL
 * adds or omits. */
bool sql_expression_equal(const char *shown, const char *written);

/* Whether rows of one key are sent in order. */
bool sql_keeps_order(const struct table *table, const struct outbox_options *options);

#endif
