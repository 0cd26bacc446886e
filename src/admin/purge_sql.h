#ifndef ADMIN_PURGE_SQL_H
#define ADMIN_PURGE_SQL_H

#include "catalog/table.h"

/* The SQL of the janitor and of `purge`, which the caller frees. NULL: out of memory. */

/* Deletes sent rows older than $1 ms, at most `limit` of each table, and returns their number. With
 * sequential ids it reads only the `limit` oldest rows of the outbox and needs no index on
 * sent_at. */
char *sql_purge(const struct table *table, int limit);
/* Up to `limit` rows of the outbox that sql_purge would delete, after the place $2 text ('': from
 * the first one on): the ctid and the place of each. */
char *sql_purge_page(const struct table *table, int limit);
/* Deletes those of the rows $2 tid[] that are sent and older than $1 ms, and returns their number.
 */
char *sql_purge_rows(const struct table *table);
/* Counts all sent rows older than $1 ms. */
char *sql_purgeable(const struct table *table);

/* sql_adopt_probes makes one row due for each destination that rows wait for but whose probe was
 * dropped. sql_adopt_behind makes the first row of a key due when the row that it waited for is
 * gone. */
char *sql_adopt_probes(const struct table *table, const struct outbox_options *options);
char *sql_adopt_behind(const struct table *table, const struct outbox_options *options);

#endif
