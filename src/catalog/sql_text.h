#ifndef CATALOG_SQL_TEXT_H
#define CATALOG_SQL_TEXT_H

#include "catalog/table.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Statements are built in memory streams: a failed write shows when the stream is closed. */
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

/* The text, to be freed; NULL: no memory. */
static inline char *writer_end(struct writer *writer)
{
    if (fclose(writer->out) == 0)
        return writer->text;
    free(writer->text);
    return NULL;
}

/* The same, or NULL when a part of the text could not be made. */
static inline char *writer_end_if(struct writer *writer, int status)
{
    char *text = writer_end(writer);

    if (status == 0)
        return text;
    free(text);
    return NULL;
}

/* The slice of a row, from 0: of its key, or of its id when it has no key. `slices`: their number.
 * The claim index is over this very expression. `parked`: of a parked row. */
void sql_put_slice(FILE *out, const struct table *table, int slices, bool parked);
/* The same of an outbox row for a statement that is printed: right whatever search_path is. */
void sql_put_slice_in_full(FILE *out, const struct table *table, int slices);

/* What stands before a type of format_type() or config/schema.sql in a statement that is printed:
 * "pg_catalog." or, for a type of another schema and for a word of the grammar, "". */
const char *sql_type_schema(const char *type);

/* A text[] literal. NULL: no memory. free() it. */
char *sql_text_array(const char *const *words, int count);

/* Whether PostgreSQL's pg_get_indexdef(..., pretty) shows what was written: it leaves out or adds
 * casts to text and bigint, quotes and schemas of its own. Parentheses and the rest count. */
bool sql_expression_equal(const char *shown, const char *written);

/* Parts of conditions, appended to a statement's text. Those that begin with " AND" may be empty.
 */

/* Whether rows of one key leave in their order. */
bool sql_keeps_order(const struct table *table, const struct outbox_options *options);

/* " AND ...": of the outbox, not sent yet, and within [outbox] where; the latter alone. */
void sql_put_unsent(FILE *out, const struct table *table);
void sql_put_where(FILE *out, const struct table *table);

/* A key as text; and: this key of the parked table has this text, found by the table's index. */
void sql_put_key_text(FILE *out, const struct table *table, const char *key);
void sql_put_key_is(FILE *out, const struct table *table, const char *key, const char *text);

/* " AND ...": this row of the parked table, by its alias, is the first unsent one of its key. */
void sql_put_head(FILE *out, const struct table *table, const char *row);

/* A probe of this destination: whether a row waits for it and comes to be tried. */
void sql_put_probe(FILE *out, const struct table *table, const struct outbox_options *options,
                   const char *destination);

#endif
