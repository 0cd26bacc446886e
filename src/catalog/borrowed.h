#ifndef CATALOG_BORROWED_H
#define CATALOG_BORROWED_H

#include "catalog/table.h"

/* Returns 0, or -1 with *error set when the session's role is a superuser, or may become one,
 * `allow_superuser` is not set, and a function of another role that is none would run with its
 * rights as soon as a statement on the tables is planned, or init adds a column. Reads only the
 * catalog. The names of `table` must be set. */
int borrowed_check(const struct table *table, struct session *session,
                   const struct outbox_options *options, struct error *error);

#endif
