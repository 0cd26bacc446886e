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

#endif
