-- The moment of --since, also in ms since 1970; NULL: any time.
-- Since: $1 int8 a duration before now in ms, or else $2 timestamptz.
SELECT since, (extract(epoch FROM since) * 1000)::int8 FROM (SELECT {since} AS since) moment
