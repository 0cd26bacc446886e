#ifndef CATALOG_PARKED_TABLE_H
#define CATALOG_PARKED_TABLE_H

#include "base/finding.h"
#include "catalog/table.h"

/* What an existing parked table lacks of what config/sql/shared/parked_table.sql says. */

/* The columns of parked_lacks. */
enum { LACK_IS_ERROR, LACK_PROBLEM, LACK_FIX, LACK_AT_ONCE };

/* A row for each difference; PQclear() it. NULL with *error set. */
PGresult *parked_lacks(const struct table *table, struct session *session, struct error *error);

/* Adds a finding for each: an error for a column, otherwise a warning. 0, or -1 with *error set. */
int parked_inspect(const struct table *table, struct session *session, struct findings *findings,
                   struct error *error);

#endif
