#ifndef ADMIN_PARKED_PARKED_SQL_H
#define ADMIN_PARKED_PARKED_SQL_H

#include "admin/admin.h"

/* Runs a statement with a moment as its two parameters: a duration before now, or a timestamp;
 * NULL: any time. */
PGresult *parked_query_since(struct admin *admin, const char *statement, const char *since,
                             struct error *error);

#endif
