#ifndef CATALOG_OFFERS_H
#define CATALOG_OFFERS_H

#include "catalog/table.h"

/*
 * A column that the table lacks may be there by another name. What is offered is one that no other
 * meaning has, whose type fits, and whose name is the same in other spelling, means the same, or
 * ends with such a word; or which is the only one of its type.
 */

/* Sets `offer` of each mapped column that the table lacks. `columns` are all that it has. */
void offers_find(struct table *table, const struct table_column *columns, int count,
                 const struct outbox_options *options);

#endif
