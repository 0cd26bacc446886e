#ifndef OUTBOX_SLICES_SQL_SLICES_H
#define OUTBOX_SLICES_SQL_SLICES_H

#include "route/route.h"
#include "catalog/sequence.h"
#include "catalog/table.h"

/* The statements by which a lane locks its slices, as texts. */

/*
 * Locks free slices that have unsent rows, at most $7 int4 of them, in the order of $1 int4[]. $2
 * int8[] and $3 int8[] are the low and high bounds of each; $4 int4[] is not 0 for those that have
 * rows in any case and are not looked at; $5 xid8[] are the long holders and $6 int8 is the file
 * node for which all this is true (docs/horizon.md), as long as the sequence has not fallen below
 * $9 int8; $8 int8 as $1 of sql_claim. The claim behind it finds what it needs.
 */
char *sql_lock_slices(const struct table *table, const struct outbox_options *options,
                      const struct routes *routes, const struct sequence *sequence);
/* Locks free slices that have parked rows which are due: $1 int4 how many, $2 int8 the sinks. */
char *sql_lock_parked_slices(const struct table *table, const struct outbox_options *options,
                             const struct routes *routes);
enum slices_column {
    SLICES_LOCKED, /* text: the slices that are locked now, "3,9", in the order they were taken */
    SLICES_COUNT,  /* int4, binary: how many slices there are; NULL: there is no telling */
    SLICES_VALID,  /* bool, binary: the bounds were true; else the claim trusts none of them */
    SLICES_SAME    /* bool, binary: the table is the one that was described */
};

#endif
