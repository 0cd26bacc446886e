#ifndef ADMIN_PURGE_SQL_H
#define ADMIN_PURGE_SQL_H

#include "catalog/table.h"

/* The statements of the janitor and of `purge`, as texts. NULL: no memory. free() them. */

/* $1 ms: deletes sent rows that are older, at most `limit` of each table, and returns the number.
 * With sequential ids it looks only at the `limit` oldest rows, and needs no index on sent_at. */
char *sql_purge(const struct table *table, int limit);
/* $1 ms: how many there are in all. */
char *sql_purgeable(const struct table *table);

/* Rows that wait for a destination which has lost its probe (its row was dropped) get another; and
 * the first of those that wait behind a row of their key which is gone falls due. */
char *sql_adopt_probes(const struct table *table, const struct outbox_options *options);
char *sql_adopt_behind(const struct table *table, const struct outbox_options *options);

#endif
