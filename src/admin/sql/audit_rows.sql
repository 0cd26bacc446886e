-- Reads the values of sent rows of the outbox, or of the parked table, for `audit`, as a claim would.
-- $1 tid[] where they lie, or int8[] the ids of rows in partitions;
-- $2 int8 of a larger payload only the length is returned.
WITH wal AS MATERIALIZED (
    {claim_position}
), locked AS MATERIALIZED (
    SELECT ctid AS relay_row, xmin AS relay_xmin, {if from_parked}*{else}{row_values}{end}, 0 AS relay_slice
    FROM {if from_parked}{parked}{else}{outbox}{end}
    WHERE (SELECT lsn FROM wal) IS NOT NULL
      AND {if from_parked}ctid = ANY ($1::tid[])
          {else}{if partitioned}{id} = ANY ($1::int8[]){else}ctid = ANY ($1::tid[]){end}{end}
)
{claimed_rows}
