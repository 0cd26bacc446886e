-- use: lane park_raw
-- Parks a row whose values cannot be computed, as dead, with the whole row in place of them; or with its id only, if
-- PostgreSQL cannot read the row. Its key is known where rows keep their order: it is in the index of the claims. Where
-- [outbox] park lets rows stay in the outbox, it is updated and copied, as by park_in_place.sql. Raises an error when
-- it does not park the row.
-- $1 tid; $2 text why; $3 text "whole"; "bare": its id only; $4 text the id.
WITH
{if in_place}
taken AS MATERIALIZED (
    SELECT {id} AS id,
           CASE WHEN $3::text <> 'bare' THEN {if keyed}{key}{else}NULL::text{end} END AS key,
           CASE WHEN $3::text <> 'bare' THEN {raw} END AS raw,
           CASE WHEN $3::text <> 'bare' THEN {identity} END AS identity
    FROM {outbox} WHERE ctid = $1::tid AND $4::text IS NOT NULL
), replaced AS (
    {drop_copies}
), stayed AS (
    UPDATE {outbox} SET {park}
    FROM (SELECT $2::text AS relay_error, 1 AS relay_attempts, 'dead'::text AS relay_state) relay_given
    WHERE {outbox_name}.ctid = $1::tid
    RETURNING ({unsent}) IS NOT TRUE AS is_out,
              CASE WHEN $3::text <> 'bare' THEN {identity} END AS identity -- as the copy finds it
), touched AS (
    INSERT INTO {parked} (id{if keyed}, key{end}, raw, identity, state, error, attempts, in_outbox)
    SELECT id{if keyed}, key{end}, raw, stayed.identity, 'dead', $2::text, 1, true
    FROM taken, stayed
    WHERE is_out AND (SELECT count(*) FROM replaced) >= 0
    RETURNING 1
)
{else}
gone AS (
    DELETE FROM {outbox} WHERE ctid = $1::tid AND {if partitioned}{id}::text = $4::text{else}$4::text IS NOT NULL{end}
    RETURNING {id} AS id,
              CASE WHEN $3::text <> 'bare' THEN {if keyed}{key}{else}NULL::text{end} END AS key,
              CASE WHEN $3::text <> 'bare' THEN {raw} END AS raw,
              CASE WHEN $3::text <> 'bare' THEN {identity} END AS identity
), touched AS (
    INSERT INTO {parked} (id{if keyed}, key{end}, raw, identity, state, error, attempts)
    SELECT id{if keyed}, key{end}, raw, identity, 'dead', $2::text, 1 FROM gone
    RETURNING 1
)
{end}
SELECT 1 / count(*) FROM touched
