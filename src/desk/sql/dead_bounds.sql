-- use: desk dead_bounds
-- The bounds of seq of all parked rows, both exclusive, so that a request ends although rows die meanwhile; and the
-- moment of --since.
SELECT coalesce((SELECT min(seq) FROM {parked}), 1) - 1 AS low,
       coalesce((SELECT max(seq) FROM {parked}), 0) + 1 AS high,
       CASE WHEN {$since_ms}::int8 IS NOT NULL THEN now() - {$since_ms}::int8 * interval '1 millisecond'
            ELSE {$since}::timestamptz END AS since
