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

#endif
