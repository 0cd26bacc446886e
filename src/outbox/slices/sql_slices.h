#ifndef OUTBOX_SLICES_SQL_SLICES_H
#define OUTBOX_SLICES_SQL_SLICES_H

#include "catalog/sequence.h"
#include "catalog/table.h"
#include "route/route.h"

/* The statements by which a lane locks its slices. */

/*
 * Locks up to $7 int4 free slices that have unsent rows, in the order of the candidates $1 int4[].
 * $2 int8[] and $3 int8[] are their low and high bounds. A candidate is locked without looking for
 * rows when its $4 int4[] is not 0: it is known to have some. $5 xid8[] are the long holders
 * (docs/horizon.md). The bounds are valid for the file node $6 int8, and while the sequence is not
 * below $9 int8. $8 int8 has a bit for each sink whose rows are ignored. The claim after this
 * statement reads the result from settings (claim_parts.h).
 */
char *sql_lock_slices(const struct table *table, const struct outbox_options *options,
                      const struct routes *routes, const struct sequence *sequence);
/* Locks up to $1 int4 free slices that have due parked rows. $2 int8 has a bit for each sink whose
 * rows are ignored. */
char *sql_lock_parked_slices(const struct table *table, const struct outbox_options *options,
                             const struct routes *routes, bool refused);
enum slices_column {
    SLICES_LOCKED, /* text: the locked slices in the order of their locks, such as "3,9" */
    SLICES_COUNT,  /* int4, binary: the number of slices; NULL: the slice table is empty */
    SLICES_VALID,  /* bool, binary: the bounds were valid; otherwise the claim ignores them */
    SLICES_SAME    /* bool, binary: the table is the one that was described */
};

#endif
