-- Claims parked rows that are due, where rows have no order.
-- $1 int8 a bit for each sink that is away; $2 int8 of a row with a larger payload only the lengths are returned;
-- $3 text[] what this relay's configuration declines: rows that wait for it are left to others.
WITH wal AS MATERIALIZED (
    {claim_position}
), locked AS MATERIALIZED (
    SELECT ctid AS relay_row, xmin AS relay_xmin, *, 0 AS relay_slice
    FROM {parked} head
    WHERE (SELECT lsn FROM wal) IS NOT NULL
      AND due <= statement_timestamp() AND {is_tried}
      AND {parked_sink_is_here:$1}
      AND coalesce(waits_for <> ALL ($3::text[]), true)
      AND {copy_is_held}
    ORDER BY due LIMIT {limit}
    FOR UPDATE SKIP LOCKED
)
{result}
