#ifndef ADMIN_PURGE_SQL_H
#define ADMIN_PURGE_SQL_H

#include "catalog/table.h"

/* The SQL of the janitor and of `purge`, which the caller frees. NULL: out of memory. */

/* Deletes sent rows older than $1 ms, at most `limit` of each table, and returns their number. With
 * sequential ids it reads only the `limit` oldest rows of the outbox and needs no index on
 * sent_at. */
char *sql_purge(const struct table *table, int limit);
/* Counts all sent rows older than $1 ms. */
char *sql_purgeable(const struct table *table);

/* sql_adopt_probes makes one row due for each destination that rows wait for but whose probe was
 * dropped. sql_adopt_behind makes the first row of a key due when the row that it waited for is
 * gone. */
char *sql_adopt_probes(const struct table *table, const struct outbox_options *options);
char *sql_adopt_behind(const struct table *table, const struct outbox_options *options);

#endif
