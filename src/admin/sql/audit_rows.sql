-- Reads the values of sent rows of the outbox for `audit`, as a claim would.
-- $1 tid[] where they lie; $2 int8 of a larger payload only the length is returned.
WITH wal AS MATERIALIZED (
    {claim_position}
), locked AS MATERIALIZED (
    SELECT ctid AS relay_row, xmin AS relay_xmin,
    {if computed}
    {all_columns}
    {else}
    {id} AS id, {event_id} AS event_id, {topic} AS topic, {key} AS key, {type} AS type, {payload} AS payload,
    {headers} AS headers, {created_at} AS created_at
    {end}
    , 0 AS relay_slice
    FROM {outbox}
    WHERE (SELECT lsn FROM wal) IS NOT NULL AND ctid = ANY ($1::tid[])
)
{claimed_rows}
