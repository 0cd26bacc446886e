-- Claims any unsent rows of the outbox, for order = "none".
-- $1 int8 a bit for each sink that is away; $2 int8 of a row with a larger payload only the lengths are returned.
WITH wal AS MATERIALIZED (
    {claim_position}
), locked AS MATERIALIZED (
    SELECT {outbox_name}.ctid AS relay_row, {outbox_name}.xmin AS relay_xmin, {columns}, 0 AS relay_slice
    FROM {outbox}
    WHERE (SELECT lsn FROM wal) IS NOT NULL
      AND {unsent}
      AND CASE WHEN {is_not_noted} THEN {sink_is_here:$1} AND {own_copy_is_held} END
    ORDER BY {outbox_name}.{id} LIMIT {limit}
    {lock_mode} SKIP LOCKED
)
{result}
