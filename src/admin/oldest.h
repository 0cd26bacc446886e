#ifndef ADMIN_OLDEST_H
#define ADMIN_OLDEST_H

#include "admin/admin_session.h"

#include <stdio.h>

/* " FROM the oldest unsent rows", as `oldest` with the table's columns: at least `limit`, or all
 * there are. */
void oldest_put_sql(const struct admin *admin, FILE *out, int limit);

/* " FROM the unsent rows LIMIT", with the table's columns. */
void oldest_put_unsent_sql(const struct admin *admin, FILE *out, int limit);

/* With order = "key" the oldest rows are found by the slices' index or not at all. */
bool oldest_can_be_found(const struct admin *admin);

#endif
