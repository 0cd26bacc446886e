-- use: desk thin_positions if position
-- Deletes the progress that is not needed: of each slice the last of a minute stays, which says when rows were sent,
-- and of what is older than the retention the last. It looks at the newest and at the oldest 2,000 of each slice.
-- $1 int8 the retention in ms; 0: none.
DELETE FROM {progress}
WHERE ctid = ANY (ARRAY(
    SELECT place
    FROM generate_series(0, {slices} - 1) relay_slices (relay_slice),
    LATERAL (
        SELECT place, settled_at, lead(settled_at) OVER (ORDER BY top, number) AS next_at
        FROM (
            SELECT ctid AS place, top, number, settled_at
            FROM {progress} WHERE slice = relay_slice
            ORDER BY top DESC, number DESC LIMIT 2000
        ) newest
        UNION
        SELECT place, settled_at, lead(settled_at) OVER (ORDER BY top, number)
        FROM (
            SELECT ctid AS place, top, number, settled_at
            FROM {progress} WHERE slice = relay_slice
            ORDER BY top, number LIMIT 2000
        ) oldest
    ) pairs
    WHERE next_at < clock_timestamp() - interval '60 s'
      AND (floor(extract(epoch FROM next_at) / 60) = floor(extract(epoch FROM settled_at) / 60)
           OR $1::int8 > 0 AND next_at < clock_timestamp() - $1::int8 * interval '1 millisecond')))
