#ifndef OUTBOX_SLICES_CLAIM_PARTS_H
#define OUTBOX_SLICES_CLAIM_PARTS_H

#include "catalog/sequence.h"
#include "catalog/sql_text.h"
#include "route/route.h"

/* SQL that the statements of a claim share: the lock, the claim itself and the scans. */

/* Settings through which sql_lock_slices passes the locked slices and their bounds to the claim in
 * the same transaction. */
#define LOCKED_SLICES "pg_catalog.current_setting('outbox_relay.slices')::int4[]"
#define LOCKED_LOWS "pg_catalog.current_setting('outbox_relay.lows')::int8[]"
#define LOCKED_HIGHS "pg_catalog.current_setting('outbox_relay.highs')::int8[]"
/* The long holders in the lane's view of the horizon. */
#define LONG_HOLDERS "pg_catalog.current_setting('outbox_relay.holders')::xid8[]"

/* The name of a setting: 'true' when the claim read from the high bounds, because all long holders
 * were running in its snapshot. */
#define READ_HIGH "'outbox_relay.read_high'"

#define SQL_LOWEST_ID "'-9223372036854775808'::int8"

/*
 * Names of settings: the snapshot of the statement that locked the slices, and the position up to
 * which the WAL must be flushed for the claimed rows to be durable (durable_before_publish).
 *
 * A statement reads the WAL insert position before it locks anything. Every commit that its
 * snapshot sees lies before that position; its own lock records lie after it and need no flush. If
 * the claim has the same snapshot as the statement that locked the slices, nobody has committed in
 * between. So it keeps the earlier position, and the records of the slice locks need no flush
 * either. A row that changed between the claim's snapshot and its lock moves the position to the
 * current one.
 */
#define SEEN_SNAPSHOT "'outbox_relay.snapshot'"
#define SEEN_WAL "'outbox_relay.wal'"

/* The name of a setting: the sum of the bytes of those rows above the inline limit that the running
 * claim has reached, whether they fitted or not; and its value. */
#define TAKEN "'outbox_relay.taken'"
#define TAKEN_BYTES "coalesce(nullif(pg_catalog.current_setting(" TAKEN ", true), '')::int8, 0)"

/* Appends " AND ...": the row's sink is not away. $param int8 has a bit for each sink that is; when
 * it is 0, no route is evaluated. Returns -1 when there is no memory. */
int sql_put_sinks(FILE *out, const struct table *table, const struct routes *routes, bool parked,
                  int param);

/* Appends the condition that a row of the outbox is in this slice and its id is not below `first`.
 */
void sql_put_in_slice(FILE *out, const struct table *table, int slices, const char *slice,
                      const char *first);

/* Appends a bool: all of `holders` (xid8[]) are running in this statement's snapshot; false when
 * there are none. */
void sql_put_running(FILE *out, const char *holders);

/* Appends the highest id that was drawn from the sequence. */
void sql_put_drawn(FILE *out, const struct sequence *sequence);

/* Appends a bool: whether the table of this name is still the one that was described. */
void sql_put_is_same(FILE *out, const struct table *table);

/* Appends the table's file node as int8, NULL when another table has its name now; and a bool,
 * whether the file node is `file`. */
void sql_put_file(FILE *out, const struct table *table);
void sql_put_file_is(FILE *out, const struct table *table, const char *file);

#endif
