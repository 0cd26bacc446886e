-- What the broker of each sink may have lost of what it had acknowledged: how many topics or streams, the first one in
-- words, when that was noticed, and since when events may be missing; NULL: ever.
SELECT about ->> 'sink' AS sink, count(*) AS rows, min(set_at) AS first,
       (array_agg(left(about ->> 'text', 500) ORDER BY set_at, name))[1] AS text,
       to_char(min(set_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS noticed,
       CASE WHEN bool_and(about ->> 'since' IS NOT NULL) THEN
           to_char(min((about ->> 'since')::timestamptz) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
       END AS since
FROM (SELECT name, value::json AS about, set_at FROM {control} WHERE kind = 'setting' AND name LIKE 'lost %') lost
GROUP BY about ->> 'sink'
ORDER BY min(set_at), 1 LIMIT 16
