-- use: parked parked_bounds
-- The bounds of seq of all parked rows, both exclusive, so that a request ends although rows die meanwhile; and the
-- moment of --since.
-- Since: $1 int8 a duration before now in ms, or else $2 timestamptz; NULL: any time.
SELECT coalesce((SELECT min(seq) FROM {parked}), 1) - 1, coalesce((SELECT max(seq) FROM {parked}), 0) + 1,
    CASE WHEN $1::int8 IS NOT NULL THEN now() - $1::int8 * interval '1 millisecond' ELSE $2::timestamptz END
