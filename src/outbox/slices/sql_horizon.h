#ifndef OUTBOX_SLICES_SQL_HORIZON_H
#define OUTBOX_SLICES_SQL_HORIZON_H

#include "catalog/sequence.h"
#include "catalog/table.h"
#include "route/route.h"

/* The queries of the horizon (docs/horizon.md). Parameters and results are in text format. */

/* The shape of the tables (catalog/shape.h), read after a lock that keeps it to the end of the
 * transaction. */
char *sql_locked_shape(const struct table *table);

/* The highest id that was drawn from this sequence. */
char *sql_drawn(const struct table *table, const struct sequence *sequence);

/* The table's file node (NULL when another table has its name now) and, for each holder of
 * RowExclusiveLock, its virtual transaction id, whether it is a prepared transaction, and its xid8
 * if the snapshot lists it as running. Without holders there is one row with NULLs. Locks on
 * parents of the table count too: an INSERT into a parent draws the id before it locks the table
 * itself. */
char *sql_holders(const struct table *table);
enum holders_column { HOLDERS_FILE, HOLDERS_TRANSACTION, HOLDERS_PREPARED, HOLDERS_XID };

/*
 * For each slice of $1 int4[]: the slice, its lowest unsent id from its bound on (NULL: none), and
 * whether the high bound was used. $2 int8[] are the low bounds; the high bounds $3 int8[] are used
 * when all long holders $4 xid8[] are running in the snapshot. $5 int8 has a bit for each sink
 * whose rows are ignored. With order = "none" the whole table is slice 0.
 *
 * With `window` the scan ends after that many unsent rows of any sink. SCAN_END is the id of the
 * last of them (NULL: there are fewer). When none of them may be claimed, SCAN_LOWEST is the id of
 * the first row after the window.
 */
char *sql_scan(const struct table *table, const struct outbox_options *options,
               const struct routes *routes, int window);
enum scan_column { SCAN_SLICE, SCAN_LOWEST, SCAN_READ_HIGH, SCAN_END };

#endif
