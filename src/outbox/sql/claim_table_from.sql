-- use: lane claim if !by_slice integer_ids with levels
-- use: lane first_row if !by_slice integer_ids with first
-- Claims any unsent rows of the outbox from its bound on, for order = "none" and ids that are integers. The bounds are
-- valid for one file node; the high one may be read from while all long holders are still running (docs/horizon.md).
-- $1 int8 a bit for each sink that is away; $2 int8 of a row with a larger payload only the lengths are returned;
-- $3 int8 the low and $4 int8 the high bound; $5 xid8[] the long holders; $6 int8 the file node; $7 int8 the highest id
-- to claim.
WITH held AS MATERIALIZED (
    SELECT set_config('outbox_relay.read_high', (SELECT cardinality(xids) > 0 AND cardinality(xids) = (
                SELECT count(*) FROM pg_snapshot_xip(pg_current_snapshot()) running (xid) WHERE running.xid
                    = ANY (xids))
     FROM (SELECT $5::xid8[] AS xids) holders)::text, true)::bool AS running
), wal AS MATERIALIZED (
    {claim_position}
), locked AS MATERIALIZED (
    SELECT {outbox_name}.ctid AS relay_row, {outbox_name}.xmin AS relay_xmin,
    {if computed}
    {all_columns}
    {else}
    {id} AS id, {event_id} AS event_id, {topic} AS topic, {key} AS key, {type} AS type, {payload} AS payload,
    {headers} AS headers, {created_at} AS created_at
    {end}
    , 0 AS relay_slice
    FROM {outbox}
    WHERE (SELECT lsn FROM wal) IS NOT NULL
      AND {id} >= CASE WHEN NOT coalesce(CASE WHEN coalesce(to_regclass({outbox_text})::oid = {outbox_oid},
          false) THEN pg_relation_filenode({outbox_oid})::int8 END = $6::int8, false) THEN '-9223372036854775808'::int8
                       WHEN (SELECT running FROM held) THEN $4::int8
                       ELSE $3::int8 END
      AND {id} <= $7::int8
      AND {unsent}
      AND CASE WHEN {is_not_noted} THEN ($1::int8 = 0 OR coalesce($1::int8 >> ({sink}), 0) & 1 = 0) END
    ORDER BY {outbox_name}.{id} LIMIT {limit}
    {if marking}FOR NO KEY UPDATE{else}FOR UPDATE{end} SKIP LOCKED
)
{if first}
SELECT relay_row, {locked_id}::text AS id FROM locked WHERE $2::int8 IS NOT NULL
{else}
{claimed_rows}
{end}
