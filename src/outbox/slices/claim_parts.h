#ifndef OUTBOX_SLICES_CLAIM_PARTS_H
#define OUTBOX_SLICES_CLAIM_PARTS_H

#include "catalog/sequence.h"
#include "catalog/sql_text.h"
#include "route/route.h"

/* What the statements of a claim have in common: its lock, the claim behind it and the scans. */

/* What sql_lock_slices has locked, for the claim behind it in the same transaction. */
#define LOCKED_SLICES "pg_catalog.current_setting('outbox_relay.slices')::int4[]"
#define LOCKED_LOWS "pg_catalog.current_setting('outbox_relay.lows')::int8[]"
#define LOCKED_HIGHS "pg_catalog.current_setting('outbox_relay.highs')::int8[]"
/* The long holders of that lane's view of the horizon, and 't' once a claim read from the high
 * bounds, because its snapshot had all of them. */
#define LONG_HOLDERS "pg_catalog.current_setting('outbox_relay.holders')::xid8[]"
#define READ_HIGH "'outbox_relay.read_high'"

#define SQL_LOWEST_ID "'-9223372036854775808'::int8"

/*
 * Every commit that a statement's snapshot sees lies before the WAL position that it reads before
 * its first lock. sql_lock_slices leaves both. When the claim behind it has the same snapshot,
 * nobody has committed in between, and what may still have to be flushed are only the locks of the
 * slices. A row that the snapshot does not see as it is claimed moves the position behind its lock.
 */
#define SEEN_SNAPSHOT "'outbox_relay.snapshot'"
#define SEEN_WAL "'outbox_relay.wal'"

/* What the claim under way gives whole so far, in bytes, of rows that are not small. */
#define TAKEN "'outbox_relay.taken'"
#define TAKEN_BYTES "coalesce(nullif(pg_catalog.current_setting(" TAKEN ", true), '')::int8, 0)"

/* " AND ...": its sink takes rows; $param int8 has a bit for each that does not. With none, no
 * route is looked at. -1: no memory. */
int sql_put_sinks(FILE *out, const struct table *table, const struct routes *routes, bool parked,
                  int param);

/* Of the outbox: in this slice, and not below this id. */
void sql_put_in_slice(FILE *out, const struct table *table, int slices, const char *slice,
                      const char *first);

/* Whether there are long holders ("xid8[]") and this statement's snapshot has all of them. */
void sql_put_running(FILE *out, const char *holders);

/* The highest id that was drawn. */
void sql_put_drawn(FILE *out, const struct sequence *sequence);

/* bool: the table of this name is the one that was described. */
void sql_put_is_same(FILE *out, const struct table *table);

/* The table's file node, int8, NULL when another table has its name; whether it is this one. */
void sql_put_file(FILE *out, const struct table *table);
void sql_put_file_is(FILE *out, const struct table *table, const char *file);

#endif
