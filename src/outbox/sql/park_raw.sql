-- use: lane park_raw if !in_place
-- Parks a row whose values cannot be computed, as dead, with the whole row in place of them; or with its id only, if
-- PostgreSQL cannot read the row. Its key is known where rows keep their order: it is in the index of the claims.
-- Raises an error when it does not move the row.
-- $1 tid; $2 text why; $3 text "whole"; "bare": its id only.
WITH gone AS (
    DELETE FROM {outbox} WHERE ctid = $1::tid
    RETURNING {id} AS id,
    CASE WHEN $3::text <> 'bare' THEN {if keyed}{key}{else}NULL::text{end} END AS key,
    CASE WHEN $3::text <> 'bare' THEN {raw} END AS raw,
    CASE WHEN $3::text <> 'bare' THEN {identity} END AS identity
), touched AS (
    INSERT INTO {parked} (id{if keyed}, key{end}, raw, identity, state, error, attempts)
    SELECT id{if keyed}, key{end}, raw, identity, 'dead', $2::text, 1 FROM gone
    RETURNING 1
)
SELECT 1 / count(*) FROM touched
