-- Part: the id and the key of a row that is parked as a whole, and the whole row.
{id} AS id,
CASE WHEN $3::text <> 'bare' THEN {ordered_key} END AS key,
CASE WHEN $3::text <> 'bare' THEN {raw} END AS raw
