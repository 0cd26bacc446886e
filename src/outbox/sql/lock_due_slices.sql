-- use: lane lock_parked_slices if by_slice with from_parked
-- use: lane lock_refused_slices if by_slice with from_refused
-- Locks up to $1 free slices that have due rows in the parked table, the longest due first: parked rows, or notes of
-- refused rows (catalog/refused.h); and passes them with their bounds to the claim after it, as lock_slices does.
-- $1 int4 how many; $2 int8 a bit for each sink that is away; $3 text[] what this relay's configuration declines: rows
-- that wait for it are left to others; $4 int8[] the low and $5 int8[] the high bound of each slice; $6 xid8[] the long
-- holders (docs/internals/horizon.md); $7 int8 the file node for which the bounds are valid; $8 int8
-- the highest id drawn when they were taken.
WITH wal AS MATERIALIZED (
    SELECT set_config('outbox_relay.snapshot', pg_current_snapshot()::text, true)
        || set_config('outbox_relay.wal', pg_current_wal_insert_lsn()::text, true) AS is_kept
), bounds AS MATERIALIZED (
    SELECT coalesce({file_node} = $7::int8, false)
           AND $8::int8 <= {if sequence}coalesce(pg_sequence_last_value({sequence}), '-9223372036854775808'::int8)
                           {else}$8::int8{end} AS valid
)
SELECT coalesce(array_to_string(locked_slices, ','), '') AS locked,
       (SELECT slice_row.slices FROM {slice_table} slice_row ORDER BY slice LIMIT 1) AS slices,
       true AS valid,
       true AS same, '' AS era,
       set_config('outbox_relay.slices', coalesce(locked_slices::text, '{}'), true),
       set_config('outbox_relay.lows', coalesce(lows::text, '{}'), true),
       set_config('outbox_relay.highs', coalesce(highs::text, '{}'), true),
       set_config('outbox_relay.holders', $6::xid8[]::text, true)
FROM (
    SELECT array_agg(slice) AS locked_slices,
           array_agg(CASE WHEN (SELECT valid FROM bounds)
               THEN ($4::int8[])[slice + 1] ELSE '-9223372036854775808'::int8 END) AS lows,
           array_agg(CASE WHEN (SELECT valid FROM bounds)
               THEN ($5::int8[])[slice + 1] ELSE '-9223372036854775808'::int8 END) AS highs
    FROM (
        SELECT relay_candidate.slice
        FROM (
            SELECT {slice_of_parked} AS slice
            FROM (
                SELECT id, key, due FROM {parked} head
                WHERE due <= statement_timestamp()
                  {if from_parked}
                  AND state IN ('retry', 'scheduled', 'waiting', 'paused') AND sent_at IS NULL AND {is_head}
                  {else}
                  AND {is_note} AND (state = 'unsettled' OR {is_head})
                  {end}
                  AND ($2::int8 = 0 OR coalesce($2::int8 >> ({sink_of_parked}), 0) & 1 = 0)
                  AND coalesce(waits_for <> ALL ($3::text[]), true)
                ORDER BY due LIMIT 1000
            ) due_rows
            GROUP BY 1 ORDER BY min(due)
        ) relay_candidate,
        LATERAL (
            SELECT FROM {slice_table} slice_row
            WHERE slice_row.slice = relay_candidate.slice AND slice_row.slices = {slices}
              AND (SELECT is_kept FROM wal) IS NOT NULL
            FOR UPDATE SKIP LOCKED
        ) lock_taken
        LIMIT $1::int4
    ) taken
) all_taken
