-- use: desk remember_acknowledged
-- Keeps what brokers have acknowledged. Another relay may have written a higher position, which stays, unless the
-- destination has another identity now.
-- $1 json an array of objects: name, sink, destination, partition, identity, position, first_ms.
WITH given AS MATERIALIZED (
    SELECT 'acknowledged ' || (item ->> 'name') AS name, item::text AS value, item ->> 'identity' AS identity,
           (item ->> 'position')::int8 AS highest
    FROM json_array_elements($1::json) item
), gone AS (
    DELETE FROM {control} kept USING given
    WHERE kept.kind = 'setting' AND kept.name = given.name
        AND (kept.value::json ->> 'identity' IS DISTINCT FROM given.identity
             OR (kept.value::json ->> 'position')::int8 < given.highest)
    RETURNING 1
)
INSERT INTO {control} (kind, name, value)
SELECT 'setting', name, value FROM given
WHERE (SELECT count(*) FROM gone) >= 0 -- the rows to replace are gone first
ON CONFLICT DO NOTHING
