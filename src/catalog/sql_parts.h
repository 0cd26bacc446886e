#ifndef CATALOG_SQL_PARTS_H
#define CATALOG_SQL_PARTS_H

#include "catalog/sql_text.h"

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
