-- use: parked replay_moments if marking has_sent_at
-- The moment of --since, and that of this command: rows sent later are not replayed.
-- Since: $1 int8 a duration before now in ms, or else $2 timestamptz; NULL: any time.
SELECT CASE WHEN $1::int8 IS NOT NULL THEN now() - $1::int8 * interval '1 millisecond' ELSE $2::timestamptz END, now()
