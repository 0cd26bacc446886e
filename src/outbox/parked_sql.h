#ifndef OUTBOX_PARKED_SQL_H
#define OUTBOX_PARKED_SQL_H

#include "outbox/parked.h"
#include "outbox/table.h"

/*
 * One statement for everything that is asked of parked rows: choose them, do it, hand them back.
 * Column 0 of its result: which ids were not found (NULL: all were); column 1: seq (NULL: there is
 * no row); then the values. NULL: no memory. free() it.
 *
 * By ids: $1 text[]. By filter: $1 and $2 int8, the bounds of seq, both exclusive; $3 type, $4
 * topic, $5 its regular expression, $6 timestamptz, each NULL for any; at most PARKED_PAGE_ROWS.
 */
char *parked_sql(const struct table *table, const struct parked_request *request, bool keeps_order,
                 bool payload_is_bytea);

/* A text[] literal. */
char *parked_sql_array(const char *const *words, int count);

#endif
