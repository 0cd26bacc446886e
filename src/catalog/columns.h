#ifndef CATALOG_COLUMNS_H
#define CATALOG_COLUMNS_H

#include "base/finding.h"
#include "catalog/table.h"

/* Whether the outbox has the columns that the configuration names, of types that can be sent. */

/* NULL when this type will do; else what would, for a message. */
const char *column_wanted(enum column column, const struct table_column *described,
                          const struct outbox_options *options);

/* An error for each column that is missing or has a type that will not do, with the SQL that mends
 * it. */
void columns_inspect(const struct table *table, const struct outbox_options *options,
                     struct findings *findings);

/* 0, or -1: the first of them whose type will not do. */
int columns_check(const struct table *table, const struct outbox_options *options,
                  struct error *error);

#endif
