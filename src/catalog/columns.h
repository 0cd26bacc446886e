#ifndef CATALOG_COLUMNS_H
#define CATALOG_COLUMNS_H

#include "base/finding.h"
#include "catalog/table.h"

/* Checks that the outbox has the configured columns, and that their types can be sent. */

/* Returns NULL when the column's type is accepted; otherwise the accepted types, for a message. */
const char *column_wanted(enum column column, const struct table_column *described,
                          const struct outbox_options *options);

/* Adds an error for each column that is missing or has an unsuitable type, with the SQL that fixes
 * it. */
void columns_inspect(const struct table *table, const struct outbox_options *options,
                     struct findings *findings);

/* Returns 0, or -1 with *error set for the first column that has an unsuitable type. */
int columns_check(const struct table *table, const struct outbox_options *options,
                  struct error *error);

#endif
