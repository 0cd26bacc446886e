-- What a step of `replay` would copy: the number of rows, the places, and a line for each of the first ten rows: id,
-- sent_at, topic.
-- The parameters are those of replay_chosen.sql.
WITH {replay_chosen}
SELECT counted.*, shown.*
FROM (SELECT (SELECT count(*) FROM chosen), {replay_places}) counted
LEFT JOIN (
    SELECT id::text, to_char(sent_at::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), left(topic, 256)
    FROM chosen ORDER BY chosen.id LIMIT 10
) shown ON true
