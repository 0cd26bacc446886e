-- Claims any unsent rows of the outbox from its bound on, for order = "none" and ids that are integers. The bounds are
-- valid for one file node; the high one may be read from while all long holders are still running (docs/horizon.md).
-- $1 int8 a bit for each sink that is away; $2 int8 of a row with a larger payload only the lengths are returned;
-- $3 int8 the low and $4 int8 the high bound; $5 xid8[] the long holders; $6 int8 the file node; $7 int8 the highest id
-- to claim.
WITH held AS MATERIALIZED (
    SELECT set_config('outbox_relay.read_high', {are_running:$5::xid8[]}::text, true)::bool AS running
), wal AS MATERIALIZED (
    {claim_position}
), locked AS MATERIALIZED (
    SELECT {outbox_name}.ctid AS relay_row, {outbox_name}.xmin AS relay_xmin, {columns}, 0 AS relay_slice
    FROM {outbox}
    WHERE (SELECT lsn FROM wal) IS NOT NULL
      AND {id} >= CASE WHEN NOT {file_is:$6::int8} THEN {lowest_id}
                       WHEN (SELECT running FROM held) THEN $4::int8
                       ELSE $3::int8 END
      AND {id} <= $7::int8
      AND {unsent}
      AND CASE WHEN {is_not_noted} THEN {sink_is_here:$1} AND {own_copy_is_held} END
    ORDER BY {outbox_name}.{id} LIMIT {limit}
    {lock_mode} SKIP LOCKED
)
{result}
