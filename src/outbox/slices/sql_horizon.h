#ifndef OUTBOX_SLICES_SQL_HORIZON_H
#define OUTBOX_SLICES_SQL_HORIZON_H

#include "route/route.h"
#include "catalog/sequence.h"
#include "catalog/table.h"

/* The questions of the horizon (docs/horizon.md), as texts. Parameters and answers are text. */

/* The highest id that was drawn from this sequence. */
char *sql_drawn(const struct table *table, const struct sequence *sequence);

/* The table's file node, NULL when another table has its name; and of each holder of
 * RowExclusiveLock its virtual transaction, whether it is prepared, and its xid8 when it runs in
 * the snapshot. With no holder there is one row with NULLs. The table's own lock counts, and those
 * of tables it is a partition or a child of: an INSERT into one of them draws the id before it
 * locks the table itself. */
char *sql_holders(const struct table *table);
enum holders_column { HOLDERS_FILE, HOLDERS_TRANSACTION, HOLDERS_PREPARED, HOLDERS_XID };

/*
 * Of each slice of $1 int4[], from its bound on, which is that of $2 int8[], or of $3 int8[] when
 * the snapshot has all long holders of $4 xid8[]: the slice, the lowest unsent id (NULL: there is
 * none) and whether the high bound was read. $5 int8 as $1 of sql_claim. Without slices there is
 * one, 0.
 *
 * With `window` the scan ends after so many unsent rows, whoever they are for: the lowest id is
 * that of the row behind them when none before it is to be claimed, and SCAN_END is the id of the
 * last of them (NULL: there are fewer).
 */
char *sql_scan(const struct table *table, const struct outbox_options *options,
               const struct routes *routes, int window);
enum scan_column { SCAN_SLICE, SCAN_LOWEST, SCAN_READ_HIGH, SCAN_END };

#endif
