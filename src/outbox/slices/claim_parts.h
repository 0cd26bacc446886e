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
/* The long holders in the lane's view of the horizon. READ_HIGH is 't' when the claim read from the
 * high bounds because all of them were running in its snapshot. */
#define LONG_HOLDERS "pg_catalog.current_setting('outbox_relay.holders')::xid8[]"
#define READ_HIGH "'outbox_relay.read_high'"

#define SQL_LOWEST_ID "'-9223372036854775808'::int8"

/*
 * The snapshot and the WAL position of sql_lock_slices, for the claim after it. Every commit that a
 * statement's snapshot sees lies before the WAL insert position that the statement reads before its
 * first lock. When the claim has the same snapshot, nobody committed in between, so the position of
 * the earlier statement serves it too, and the WAL of the slice locks need not be flushed. A row
 * version that the snapshot does not see moves the position past the row's lock.
 */
#define SEEN_SNAPSHOT "'outbox_relay.snapshot'"
#define SEEN_WAL "'outbox_relay.wal'"

/* The bytes of the larger rows that the running claim has returned in full so far. */
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

/* Appends a bool: whether `holders` (xid8[]) is not empty and all of them are running in this
 * statement's snapshot. */
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
