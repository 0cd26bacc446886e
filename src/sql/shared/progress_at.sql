-- Part of a FROM with on_sent = "position": the newest progress of the slice "relay_slice"; of a slice without any, one
-- that has sent nothing.
LATERAL (
    SELECT coalesce(newest.top, '-9223372036854775808'::int8) AS relay_top,
           coalesce(newest.low, '-9223372036854775808'::int8) AS relay_from,
           newest.ends AS relay_ends, newest.snapshots AS relay_snapshots,
           coalesce(newest.number, 0) AS relay_number
    FROM (SELECT) one
    LEFT JOIN LATERAL (
        SELECT *
        FROM {progress} progress
        WHERE progress.slice = relay_slice
        ORDER BY progress.top DESC, progress.number DESC LIMIT 1
    ) newest ON true
) relay_at
