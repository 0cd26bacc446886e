#ifndef ADMIN_MISSING_H
#define ADMIN_MISSING_H

#include "admin/admin_session.h"

/* Makes the SQL that adds what the existing tables lack, one statement per line, to be run outside
 * a transaction block. *sql is "" when nothing is missing; the caller frees it. 0 or -1. */
int missing_sql(struct admin *admin, char **sql, struct error *error);

#endif
