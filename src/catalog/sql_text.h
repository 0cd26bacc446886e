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

/* The same; NULL also when `status` is not 0, because a part of the text could not be made. */
static inline char *writer_end_if(struct writer *writer, int status)
{
    char *text = writer_end(writer);

    if (status == 0)
        return text;
    free(text);
    return NULL;
}

/* Appends the expression for a row's slice, from 0: the hash of its key, or of its id when the key
 * is NULL, modulo `slices`. The claim index is on this expression. `parked`: for a parked row. */
void sql_put_slice(FILE *out, const struct table *table, int slices, bool parked);
/* The same for an outbox row in a printed statement, which must not depend on search_path. */
void sql_put_slice_in_full(FILE *out, const struct table *table, int slices);

/* Appends the time of a row's created_at as a timestamptz, or NULL where it is
 * none from 1970 to 9998: an expression that fails for no row, whatever an
 * application has written into it. */
void sql_put_created_at(FILE *out, const struct table *table, const char *name);

/* The prefix of a type name in a printed statement: "pg_catalog.", or "" for a qualified name and
 * for a type that is a keyword of the grammar. */
const char *sql_type_schema(const char *type);

/* A text[] literal. NULL: no memory. free() it. */
char *sql_text_array(const char *const *words, int count);

/* Whether an expression as shown by pg_get_indexdef(..., pretty) is the one that was written.
 * Ignores spaces, quotes, the schema pg_catalog, and casts to text and bigint, which PostgreSQL
 * adds or omits. */
bool sql_expression_equal(const char *shown, const char *written);

/* Functions that append parts of conditions to a statement. A part that begins with " AND" may be
 * empty. */

/* Whether rows of one key are sent in order. */
bool sql_keeps_order(const struct table *table, const struct outbox_options *options);

/* sql_put_unsent(): " AND ...", the row of the outbox is unsent and satisfies [outbox] where.
 * sql_put_where(): only the latter. sql_put_claimable(): it is unsent, and no note says that
 * PostgreSQL refuses it (refused.h). */
void sql_put_unsent(FILE *out, const struct table *table);
void sql_put_claimable(FILE *out, const struct table *table);
void sql_put_where(FILE *out, const struct table *table);

/* sql_put_key_text(): a key as text. sql_put_key_is(): the condition that a key of the parked table
 * has this text, in the form that its index supports. */
void sql_put_key_text(FILE *out, const struct table *table, const char *key);
void sql_put_key_is(FILE *out, const struct table *table, const char *key, const char *text);

/* " AND ...": the row of the parked table with this alias is the first unsent one of its key. */
void sql_put_head(FILE *out, const struct table *table, const char *row);

/* The condition that the destination has a probe: a parked row that waits for it and will become
 * due. */
void sql_put_probe(FILE *out, const struct table *table, const struct outbox_options *options,
                   const char *destination);

#endif
