#ifndef CATALOG_SQL_TEXT_H
#define CATALOG_SQL_TEXT_H

#include "catalog/table.h"
#include "sql/sql.h"

#include <stdbool.h>
#include <stdio.h>

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
