-- use: lane claim if !by_slice with levels
-- use: lane first_row if !by_slice with first
-- Claims any unsent rows of the outbox, for order = "none"; from their bound on, if the ids are integers. The bounds
-- are valid for one file node; the high one may be read from while all long holders are still running
-- (docs/internals/horizon.md).
-- $1 int8 a bit for each sink that is away; $2 int8 of a row with a larger payload only the lengths are returned. With
-- bounds also $3 int8 the low and $4 int8 the high one; $5 xid8[] the long holders; $6 int8 the file node; $7 int8 the
-- highest id to claim.
WITH
{if integer_ids}
held AS MATERIALIZED (
    SELECT set_config('outbox_relay.read_high', (
               SELECT {are_running} FROM (SELECT $5::xid8[] AS xids) holders)::text,
               true)::bool AS running
),
{end}
wal AS MATERIALIZED (
    {claim_position}
), locked AS MATERIALIZED (
    SELECT {outbox_name}.ctid AS relay_row, {outbox_name}.xmin AS relay_xmin,
           {row_values}, 0 AS relay_slice
    FROM {outbox}
    WHERE (SELECT lsn FROM wal) IS NOT NULL
      {if integer_ids}
      AND {id} >= CASE WHEN NOT coalesce({file_node} = $6::int8, false) THEN '-9223372036854775808'::int8
                       WHEN (SELECT running FROM held) THEN $4::int8
                       ELSE $3::int8 END
      AND {id} <= $7::int8
      {end}
      AND {unsent}
      AND CASE WHEN {is_not_noted} THEN ($1::int8 = 0 OR coalesce($1::int8 >> ({sink}), 0) & 1 = 0) END
    ORDER BY {outbox_name}.{id} LIMIT {limit}
    {if marking}FOR NO KEY UPDATE{else}FOR UPDATE{end} SKIP LOCKED
)
{claimed_rows}
