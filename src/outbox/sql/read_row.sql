-- use: lane read_row with blocked
-- use: lane read_parked_row with from_parked
-- Reads one row of the outbox, or one parked row, which is locked already. Rows of two partitions may have one ctid.
-- $1 int8 ignored; $2 int8 of a larger payload only the length is returned; $3 tid; $4 text the id.
WITH wal AS MATERIALIZED (
    {claim_position}
), locked AS MATERIALIZED (
    SELECT ctid AS relay_row, xmin AS relay_xmin, {if from_parked}*{else}{row_values}{end}, 0 AS relay_slice
    FROM {if from_parked}{parked}{else}{outbox}{end}
    WHERE (SELECT lsn FROM wal) IS NOT NULL AND ctid = $3::tid AND $1::int8 IS NOT NULL
      AND {if from_parked}($4::text IS NULL) IS NOT NULL
          {else}{if partitioned}{id}::text = $4::text{else}($4::text IS NULL) IS NOT NULL{end}{end}
)
{claimed_rows}
