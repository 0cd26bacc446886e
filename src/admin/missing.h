#ifndef ADMIN_MISSING_H
#define ADMIN_MISSING_H

#include "admin/admin_session.h"

/* Both make SQL that adds what the existing tables lack, one statement per line. *sql is "" when
 * nothing is missing; the caller frees it. 0 or -1. */

/* What `init` adds by itself, in its transaction. */
int missing_at_once_sql(struct admin *admin, char **sql, struct error *error);
/* The rest, to be run outside a transaction block. */
int missing_sql(struct admin *admin, char **sql, struct error *error);

#endif
