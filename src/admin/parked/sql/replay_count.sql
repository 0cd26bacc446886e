-- use: parked replay_count if marking has_sent_at
-- Counts what a step of `replay` would copy. Returns the number of rows, the last id that was looked at (NULL: there
-- are no more), the last one that would be copied, and a line for each of the first ten rows: id, sent_at, topic.
-- NULL for any: $1 text the last id of the step before; $2 timestamptz the earliest sent_at; $4 text the topic; $5 text
-- a regular expression for the topic; $6 text an array of ids, $8 of keys. $3 timestamptz sent
-- before; $7 int4 the most rows.
WITH {replay_chosen}
SELECT counted.*, shown.*
FROM (SELECT (SELECT count(*) FROM chosen), CASE WHEN (SELECT count(*) FROM chosen) >= $7::int4
     THEN (SELECT id::text FROM chosen ORDER BY chosen.id DESC LIMIT 1)
     ELSE (SELECT id::text FROM edge) END,
(SELECT id::text FROM chosen ORDER BY chosen.id DESC LIMIT 1)) counted
LEFT JOIN (
    SELECT id::text, to_char(sent_at::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), left(topic, 256)
    FROM chosen ORDER BY chosen.id LIMIT 10
) shown ON true
