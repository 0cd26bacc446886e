-- use: lane read_row with blocked
-- use: lane read_parked_row with from_parked
-- Reads one row of the outbox, or one parked row, which is locked already.
-- $1 int8 ignored; $2 int8 of a larger payload only the length is returned; $3 tid.
WITH wal AS MATERIALIZED (
    {claim_position}
), locked AS MATERIALIZED (
    SELECT ctid AS relay_row, xmin AS relay_xmin, {if from_parked}*{else}{row_values}{end}, 0 AS relay_slice
    FROM {if from_parked}{parked}{else}{outbox}{end}
    WHERE (SELECT lsn FROM wal) IS NOT NULL AND ctid = $3::tid AND $1::int8 IS NOT NULL
)
{claimed_rows}
