#ifndef CATALOG_DESCRIBE_H
#define CATALOG_DESCRIBE_H

#include "catalog/table.h"

/* Describes the table. 0 also when it does not exist. `table` is zeroed before the first call on a
 * session, and the same one on every later call. */
int describe_table(struct table *table, struct session *session,
                   const struct outbox_options *options, struct error *error);

/* 0, or -1: what the outbox lacks to be read; what all tables lack that every command needs; or the
 * relay, which claims and parks too. The first error of what `check` lists in full. */
int describe_check_outbox(const struct table *table, const struct outbox_options *options,
                          struct error *error);
int describe_check_whole(const struct table *table, const struct outbox_options *options,
                         struct error *error);
int describe_check_usable(const struct table *table, struct session *session,
                          const struct outbox_options *options, struct error *error);

/* 0; -1: it lacks a column that it had when it was described before (an empty description: never).
 * An optional column that is renamed must not leave its messages without what it held. */
int describe_check_unchanged(const struct table *table, const struct table *before,
                             struct error *error);

#endif
