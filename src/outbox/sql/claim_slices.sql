-- use: lane claim if by_slice with levels blocked
-- use: lane first_row if by_slice with first
-- Claims the rows of the slices that lock_slices has locked: slice by slice, from each its share of the limit. No other
-- lane claims rows of these slices. A row that some other session has locked must be waited for, because skipping it
-- would reorder its key.
--
-- The rows come slice by slice, because the planner has no other join than a nested loop here; the relay checks it
-- (slice_lock.c: note_rows). The share of a slice is the one that note_ends() there computes.
--
-- The condition on the slice is a range. With an equality the planner could prefer another index on the id and read
-- all slices. Only the claim index supports the range. By the claim's own snapshot it is decided which of the two
-- bounds of a slice may be read from: the high one while all long holders are still running
-- (docs/internals/horizon.md).
--
-- $1 int8 a bit for each sink that is away; $2 int8 of a row with a larger payload only the lengths are returned.
WITH held AS MATERIALIZED (
    SELECT set_config('outbox_relay.read_high', (
               SELECT {are_running}
               FROM (SELECT current_setting('outbox_relay.holders')::xid8[] AS xids) holders)::text,
               true)::bool AS running
), wal AS MATERIALIZED (
    {claim_position}
), locked AS MATERIALIZED (
    SELECT taken.*, relay_slice
    FROM ROWS FROM (
             unnest(current_setting('outbox_relay.slices')::int4[]),
             unnest(current_setting('outbox_relay.lows')::int8[]),
             unnest(current_setting('outbox_relay.highs')::int8[])
         ) AS bounds (relay_slice, relay_low, relay_high),
         LATERAL (
             SELECT {outbox_name}.ctid AS relay_row, {outbox_name}.xmin AS relay_xmin,
                    {row_values}
             FROM {outbox}
             WHERE (SELECT lsn FROM wal) IS NOT NULL
               AND ({slice_of_row}, {id}) >= (
                       relay_slice, CASE WHEN (SELECT running FROM held) THEN relay_high ELSE relay_low END)
               AND {slice_of_row} < relay_slice + 1
               AND {unsent}
               AND CASE WHEN {is_not_noted} THEN ($1::int8 = 0 OR coalesce($1::int8 >> ({sink}), 0) & 1 = 0) END
             ORDER BY {slice_of_row}, {outbox_name}.{id}
             LIMIT (
                 SELECT ({limit} - 1 + slice_count) / slice_count
                 FROM (
                     SELECT greatest(cardinality(current_setting('outbox_relay.slices')::int4[]), 1) AS slice_count
                 ) counted)
             {if marking}FOR NO KEY UPDATE{else}FOR UPDATE{end}
         ) taken
    LIMIT {limit}
)
{if first}
SELECT relay_row, {locked_id}::text AS id FROM locked WHERE $2::int8 IS NOT NULL
{else}
{claimed_rows}
{end}
