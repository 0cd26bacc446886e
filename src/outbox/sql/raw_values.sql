-- Part: the id and the key of a row that is parked as a whole, the whole row, and its identity.
{id} AS id,
CASE WHEN $3::text <> 'bare' THEN {ordered_key} END AS key,
CASE WHEN $3::text <> 'bare' THEN {raw} END AS raw,
CASE WHEN $3::text <> 'bare' THEN {identity} END AS identity
