-- use: lane claim_parked if !keyed !in_place with levels from_parked
-- use: lane first_parked_row if !keyed !in_place with first from_parked
-- Claims parked rows that are due, where rows have no order.
-- $1 int8 a bit for each sink that is away; $2 int8 of a row with a larger payload only the lengths are returned;
-- $3 text[] what this relay's configuration declines: rows that wait for it are left to others.
WITH wal AS MATERIALIZED (
    {claim_position}
), locked AS MATERIALIZED (
    SELECT ctid AS relay_row, xmin AS relay_xmin, *, 0 AS relay_slice
    FROM {parked}
    WHERE (SELECT lsn FROM wal) IS NOT NULL
      AND due <= statement_timestamp() AND state IN ('retry', 'scheduled', 'waiting', 'paused') AND sent_at IS NULL
      AND ($1::int8 = 0 OR coalesce($1::int8 >> ({sink_of_parked}), 0) & 1 = 0)
      AND coalesce(waits_for <> ALL ($3::text[]), true)
    ORDER BY due LIMIT {limit}
    FOR UPDATE SKIP LOCKED
)
{if first}
SELECT relay_row, id::text AS id FROM locked WHERE $2::int8 IS NOT NULL
{else}
{claimed_rows}
{end}
