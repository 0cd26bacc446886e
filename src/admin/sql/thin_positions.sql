-- use: desk thin_positions if position
-- Deletes the progress that is not needed: of each slice the last of ten seconds stays, which says when rows were sent,
-- and of what is older than the retention the last.
-- $1 int8 the retention in ms; 0: none.
DELETE FROM {progress}
WHERE (slice, top, number) IN (
    SELECT slice, top, number
    FROM (
        SELECT slice, top, number, settled_at,
               lead(settled_at) OVER (PARTITION BY slice ORDER BY top, number) AS next_at
        FROM {progress}
    ) progress
    WHERE next_at < clock_timestamp() - interval '10 s'
      AND (floor(extract(epoch FROM next_at) / 10) = floor(extract(epoch FROM settled_at) / 10)
           OR $1::int8 > 0 AND next_at < clock_timestamp() - $1::int8 * interval '1 millisecond'))
