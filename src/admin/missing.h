#ifndef ADMIN_MISSING_H
#define ADMIN_MISSING_H

#include "admin/admin_session.h"

/* The SQL that adds what the existing tables lack, a statement a line; *sql is "" when that is
 * nothing, and to be free()d. Run outside a transaction block. 0 or -1. */
int missing_sql(struct admin *admin, char **sql, struct error *error);

#endif
