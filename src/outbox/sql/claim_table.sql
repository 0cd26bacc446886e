-- use: lane claim if !by_slice !integer_ids with levels
-- use: lane first_row if !by_slice !integer_ids with first
-- Claims any unsent rows of the outbox, for order = "none".
-- $1 int8 a bit for each sink that is away; $2 int8 of a row with a larger payload only the lengths are returned.
WITH wal AS MATERIALIZED (
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
