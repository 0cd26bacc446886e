-- use: lane claim if by_slice with levels blocked
-- use: lane first_row if by_slice with first
-- use: lane lean_claim if by_slice !computed with levels lean
-- Claims the rows of the slices that lock_slices has locked, or only looks for the first one: slice by slice, from each
-- its share of the limit. No other lane claims rows of these slices. A row that some other session has locked must be
-- waited for, because skipping it would reorder its key. slice_rows.sql and claimed_rows.sql have the rows and locks.
-- It is also prepared with smaller limits (levels), and says which rows have an earlier one of their key that is parked
-- (blocked).
--
-- The rows come slice by slice, because the planner has no other join than a nested loop here; the relay checks it
-- (slice_lock.c: note_rows). The share of a slice is the one that note_ends() there computes.
--
-- The condition on the slice is a range. With an equality the planner could prefer another index on the id and read
-- all slices. Only the claim index supports the range. By the claim's own snapshot it is decided which of the two
-- bounds of a slice may be read from: the high one while all long holders are still running
-- (docs/internals/horizon.md).
--
-- The lean one is for claims without long holders, sinks that are away, notes, parked keys and large rows (round.c:
-- may_be_lean, lean_rows.sql).
--
-- Unless it is lean: $1 int8 a bit for each sink that is away; $2 int8 of a row with a larger payload only the lengths
-- are returned.
{if lean}
{lean_rows}
{else}
WITH held AS MATERIALIZED (
    SELECT set_config('outbox_relay.read_high', (
               SELECT {are_running}
               FROM (SELECT current_setting('outbox_relay.holders')::xid8[] AS xids) holders)::text,
               true)::bool AS running
), wal AS MATERIALIZED (
    {claim_position}
), locked AS MATERIALIZED (
    {slice_rows}
)
{claimed_rows}
{end}
