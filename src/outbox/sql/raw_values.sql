-- Part: the id and the key of a row that is parked as a whole, and the whole row.
{id} AS id,
CASE WHEN $3::text <> 'bare' THEN {ordered_key} END AS key,
CASE $3::text WHEN 'json' THEN row_to_json({outbox_name})::text WHEN 'text' THEN {outbox_name}::text END AS raw
