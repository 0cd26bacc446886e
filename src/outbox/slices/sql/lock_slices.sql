-- use: lane lock_slices if by_slice
-- use: lane lean_lock_slices if by_slice !computed with lean
-- Locks up to $4 free slices that have unsent rows, in the order of the candidates, and passes them with their bounds
-- to the claim after it by settings (docs/internals/statements.md).
--
-- This is a statement of its own before the claim, because each statement has its own snapshot: a claim whose snapshot
-- was taken before the lock would not see that the lane that had the slice before has just parked a row. A later row of
-- its key would come without "blocked", and overtake it. The statement leaves the planner no choice: it visits the
-- candidates in order and locks the slice row of each that has unsent rows, until there are enough. A lane that is
-- configured for a different number of slices locks none. A slice in which a row of before the numbers has none yet
-- (numbers.c) is not free.
--
-- The bounds are ignored when they are not valid: after a TRUNCATE, which changes the file node, or when the sequence
-- was set back, so that ids below the bounds are drawn again.
--
-- The lean one is for claims without long holders, notes and sinks that are away (round.c: may_be_lean). What it does
-- not see of the table, another file node or another table of its name, the token of `claimed` shows.
--
-- $1 int4[] candidates; $2 int8[] their low bounds; $3 int4[] not 0: the slice is known to have rows; $4 int4 how many;
-- $5 int8 the highest id drawn when the bounds were taken. Unless it is lean, also $6 int8[] the high bounds; $7 xid8[]
-- the long holders (docs/internals/horizon.md); $8 int8 the file node for which the bounds are valid; $9 int8 a bit for
-- each sink that is away.
WITH wal AS MATERIALIZED (
    SELECT set_config('outbox_relay.snapshot', pg_current_snapshot()::text, true)
        || set_config('outbox_relay.wal', pg_current_wal_insert_lsn()::text, true) AS is_kept
),
{if !lean}
held AS MATERIALIZED (
    SELECT (SELECT {are_running} FROM (SELECT $7::xid8[] AS xids) holders) AS running
),
{end}
bounds AS MATERIALIZED (
    SELECT {if lean}true{else}coalesce({file_node} = $8::int8, false){end}
           AND $5::int8 <= {if sequence}coalesce(pg_sequence_last_value({sequence}), '-9223372036854775808'::int8)
                           {else}$5::int8{end} AS valid
)
SELECT coalesce(array_to_string(locked_slices, ','), '') AS locked,
       (SELECT slice_row.slices FROM {slice_table} slice_row ORDER BY slice LIMIT 1) AS slices,
       (SELECT valid FROM bounds) AS valid,
       {if lean}true{else}coalesce(to_regclass({outbox_text})::oid = {outbox_oid}, false){end}
           {if position}
           {if sequence}
           AND $5::int8 <= coalesce(pg_sequence_last_value({sequence}), '-9223372036854775808'::int8)
           {end}
           AND EXISTS (
               SELECT FROM {control}
               WHERE kind = 'setting' AND name = 'position' AND starts_with(value, ({position_nodes}) || ' '))
           {end}
           AS same,
       {if position}{era}{else}''{end} AS era,
       set_config('outbox_relay.slices', coalesce(locked_slices::text, '{}'), true),
       set_config('outbox_relay.lows', coalesce(lows::text, '{}'), true)
       {if position}, set_config('outbox_relay.drawn', $5::text, true){end}
       {if !lean},
       set_config('outbox_relay.highs', coalesce(highs::text, '{}'), true),
       set_config('outbox_relay.holders', $7::xid8[]::text, true)
       {end}
FROM (
    SELECT array_agg(slice) AS locked_slices, array_agg(low) AS lows
           {if !lean}, array_agg(high) AS highs{end}
    FROM (
        SELECT relay_candidate.*
        FROM (
            SELECT slice, more,
                   CASE WHEN (SELECT valid FROM bounds) THEN low ELSE '-9223372036854775808'::int8 END AS low
                   {if !lean},
                   CASE WHEN (SELECT valid FROM bounds) THEN high ELSE '-9223372036854775808'::int8 END AS high
                   {end}
            FROM ROWS FROM (unnest($1::int4[]), unnest($2::int8[]), unnest($3::int4[])
                            {if !lean}, unnest($6::int8[]){end})
                     AS given (slice, low, more{if !lean}, high{end})
        ) relay_candidate,
        LATERAL (
            SELECT FROM {slice_table} slice_row
            WHERE slice_row.slice = relay_candidate.slice AND slice_row.slices = {slices}
              AND (SELECT is_kept FROM wal) IS NOT NULL
              {if numbered}
              AND ({numbers_are_noted}
                   OR NOT EXISTS (SELECT FROM {outbox}
                                  WHERE {slice_of_row} = relay_candidate.slice AND {id} IS NULL AND {unsent}))
              {end}
              AND (relay_candidate.more <> 0 OR EXISTS (
                  SELECT FROM
                      {if position}
                      (SELECT relay_candidate.slice AS relay_slice) relay_row,
                      {progress_at},
                      {end}
                      LATERAL (
                          SELECT FROM {outbox}
                          WHERE ({slice_of_row}, {id}) >= (
                                    relay_candidate.slice,
                                    {if position}greatest(relay_from, {end}
                                    {if lean}
                                    relay_candidate.low
                                    {else}
                                    CASE WHEN (SELECT running FROM held)
                                         THEN relay_candidate.high ELSE relay_candidate.low END
                                    {end}
                                    {if position}){end})
                            AND {slice_of_row} < relay_candidate.slice + 1
                            {if partitioned}
                            AND {id} >= relay_from
                            {end}
                            AND {if position}{is_unsent_at}{else}{unsent}{end}
                            {if !lean}
                            AND CASE WHEN {is_not_noted}
                                     THEN ($9::int8 = 0 OR coalesce($9::int8 >> ({sink}), 0) & 1 = 0) END
                            {end}
                          ORDER BY {slice_of_row}, {outbox_name}.{id} LIMIT 1
                      ) found))
            FOR UPDATE SKIP LOCKED
        ) lock_taken
        LIMIT $4::int4
    ) taken
) all_taken
