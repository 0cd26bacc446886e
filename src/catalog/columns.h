#ifndef CATALOG_COLUMNS_H
#define CATALOG_COLUMNS_H

#include "base/finding.h"
#include "catalog/table.h"

/* Checks that the outbox has the configured columns, and that their types can be sent. */

/* Returns NULL when the column's type is accepted; otherwise the accepted types, for a message. */
const char *column_wanted(enum column column, const struct table_column *described,
                          const struct outbox_options *options);

/* The SQL that adds a column of this meaning to a table with rows, so that the rows can be sent,
 * and those of an application that does not know the column. Returns what snprintf() does. */
int columns_add_sql(const struct table *table, enum column column, char *sql, size_t size);

/* What to do about a column that the table lacks: to map one that fits, or to add it. */
void columns_put_remedy(const struct table *table, enum column column, char *out, size_t size);

/* Adds an error for each column that is missing or has an unsuitable type, with what fixes it; and
 * a warning for one that the relay can do without, and that may be there by another name. */
void columns_inspect(const struct table *table, const struct outbox_options *options,
                     struct findings *findings);

/* Whether each column that the table has is of a suitable type. */
bool columns_fit(const struct table *table, const struct outbox_options *options);

/* Whether others give this name, or value of a column, to what is meant: "id", "status",
 * "sent_value", ... (config/guesses.txt). */
bool guess_means(const char *meaning, const char *name);

/* A column that the table lacks may be there by another name. What is offered is one that no other
 * meaning has, whose type fits, and whose name is the same in other spelling, means the same, or
 * ends with such a word; or which is the only one of its type. Sets `offer` of each mapped column
 * that the table lacks. `columns` are all that it has. */
void offers_find(struct table *table, const struct table_column *columns, int count,
                 const struct outbox_options *options);

/* Whether the column is a timestamp without time zone, or a date. The session reads such times in
 * [outbox] time_zone (pg/connect.c). Whoever wrote them may have had another one. */
bool zone_is_lacking(const struct table_column *column);

#endif
