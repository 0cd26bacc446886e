-- use: lane park_raw if in_place
-- The same as park_raw.sql where [outbox] park lets rows stay in the outbox.
-- $1 tid; $2 text why; $3 text "whole"; "bare": its id only.
WITH taken AS MATERIALIZED (
    SELECT {id} AS id,
    CASE WHEN $3::text <> 'bare' THEN {if keyed}{key}{else}NULL::text{end} END AS key,
    CASE WHEN $3::text <> 'bare' THEN {raw} END AS raw,
    CASE WHEN $3::text <> 'bare' THEN {identity} END AS identity
    FROM {outbox} WHERE ctid = $1::tid
), replaced AS (
    {drop_copies}
), stayed AS (
    UPDATE {outbox} SET {park}
    FROM (SELECT $2::text AS relay_error, 1 AS relay_attempts, 'dead'::text AS relay_state) relay_given
    WHERE {outbox_name}.ctid = $1::tid
    RETURNING ({unsent}) IS NOT TRUE AS is_out, CASE WHEN $3::text <> 'bare'
        THEN {identity} END AS identity -- as the copy finds it
), touched AS (
    INSERT INTO {parked} (id{if keyed}, key{end}, raw, identity, state, error, attempts, in_outbox)
    SELECT id{if keyed}, key{end}, raw, stayed.identity, 'dead', $2::text, 1, true
    FROM taken, stayed
    WHERE is_out AND (SELECT count(*) FROM replaced) >= 0
    RETURNING 1
)
SELECT 1 / count(*) FROM touched
