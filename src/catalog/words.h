#ifndef CATALOG_WORDS_H
#define CATALOG_WORDS_H

#include "catalog/table.h"
#include "sql/sql.h"

/* The words that stand in statements for the tables and what is configured of them
 * (docs/statements.md). */

struct table_words {
    const struct table *table;
    const struct outbox_options *options;
};

/* The column of this name, which must be one (column_name). */
enum column column_of(const char *name);

/* The words about `about`, which must outlive the result. */
struct sql_words table_words(const struct table_words *about);

/* A statement about tables, and about nothing that is configured of them; free() it. NULL: no
 * memory. */
char *table_sql(const struct table *table, const char *statement);
/* Renders such a statement and runs it (session_query). PQclear() the result. NULL with *error set.
 */
PGresult *table_query(const struct table *table, struct session *session, const char *statement,
                      int param_count, const char *const *params, struct error *error);

#endif
