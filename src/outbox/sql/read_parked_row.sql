-- use: lane read_parked_row with from_parked
-- Reads one parked row, which is locked already.
-- $1 int8 ignored; $2 int8 of a larger payload only the length is returned; $3 tid.
WITH wal AS MATERIALIZED (
    {claim_position}
), locked AS MATERIALIZED (
    SELECT ctid AS relay_row, xmin AS relay_xmin, *, 0 AS relay_slice
    FROM {parked}
    WHERE (SELECT lsn FROM wal) IS NOT NULL AND ctid = $3::tid AND $1::int8 IS NOT NULL
)
{claimed_rows}
