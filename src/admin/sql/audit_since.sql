-- use: desk audit_since if keeps_sent has_sent_at
-- The moment of --since, also in ms since 1970; NULL: any time.
-- Since: $1 int8 a duration before now in ms, or else $2 timestamptz.
SELECT since, (extract(epoch FROM since) * 1000)::int8
FROM (
    SELECT CASE WHEN $1::int8 IS NOT NULL THEN now() - $1::int8 * interval '1 millisecond'
                ELSE $2::timestamptz END AS since
) moment
