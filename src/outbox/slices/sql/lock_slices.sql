-- Locks up to $7 free slices that have unsent rows, in the order of the candidates, and passes them with their bounds
-- to the claim after it by settings (docs/statements.md).
--
-- This is a statement of its own before the claim, because each statement has its own snapshot: a claim whose snapshot
-- was taken before the lock would still see as unsent what the lane that had the slice before has just sent. The
-- statement leaves the planner no choice: it visits the candidates in order and locks the slice row of each that has
-- unsent rows, until there are enough. A lane that is configured for a different number of slices locks none.
--
-- The bounds are ignored when they are not valid: after a TRUNCATE, which changes the file node, or when the sequence
-- was set back, so that ids below the bounds are drawn again.
--
-- $1 int4[] candidates; $2 int8[] their low and $3 int8[] their high bounds; $4 int4[] not 0: the slice is known to
-- have rows; $5 xid8[] the long holders (docs/horizon.md); $6 int8 the file node for which the bounds are valid;
-- $7 int4 how many; $8 int8 a bit for each sink that is away; $9 int8 the highest id drawn when the bounds were taken.
WITH wal AS MATERIALIZED (
    {keep_position}
), held AS MATERIALIZED (
    SELECT {are_running:$5::xid8[]} AS running
), bounds AS MATERIALIZED (
    SELECT {file_is:$6::int8} AND $9::int8 <= {drawn:$9::int8} AS valid
)
SELECT coalesce(array_to_string(locked_slices, ','), ''),
       (SELECT slice_row.slices FROM {slice_table} slice_row ORDER BY slice LIMIT 1),
       (SELECT valid FROM bounds),
       {is_same_table},
       set_config('outbox_relay.slices', coalesce(locked_slices::text, '{}'), true),
       set_config('outbox_relay.lows', coalesce(lows::text, '{}'), true),
       set_config('outbox_relay.highs', coalesce(highs::text, '{}'), true),
       set_config('outbox_relay.holders', $5::xid8[]::text, true)
FROM (
    SELECT array_agg(slice) AS locked_slices, array_agg(low) AS lows, array_agg(high) AS highs
    FROM (
        SELECT relay_candidate.slice, relay_candidate.low, relay_candidate.high
        FROM (
            SELECT slice, more,
                   CASE WHEN (SELECT valid FROM bounds) THEN low ELSE {lowest_id} END AS low,
                   CASE WHEN (SELECT valid FROM bounds) THEN high ELSE {lowest_id} END AS high
            FROM ROWS FROM (unnest($1::int4[]), unnest($2::int8[]), unnest($3::int8[]), unnest($4::int4[]))
                     AS given (slice, low, high, more)
        ) relay_candidate,
        LATERAL (
            SELECT FROM {slice_table} slice_row
            WHERE slice_row.slice = relay_candidate.slice AND slice_row.slices = {slices}
              AND (SELECT is_kept FROM wal) IS NOT NULL
              AND (relay_candidate.more <> 0 OR EXISTS (
                  SELECT FROM {outbox}
                  WHERE ({slice_of_row}, {id}) >= (
                            relay_candidate.slice,
                            CASE WHEN (SELECT running FROM held) THEN relay_candidate.high ELSE relay_candidate.low END)
                    AND {slice_of_row} < relay_candidate.slice + 1
                    AND {unsent}
                    AND CASE WHEN {is_not_noted} THEN {sink_is_here:$8} END))
            FOR UPDATE SKIP LOCKED
        ) lock_taken
        LIMIT $7::int4
    ) taken
) all_taken
