-- The dead rows, counted up to a limit, and the age of the oldest.
SELECT COUNT(*) AS dead,
       GREATEST(0, UNIX_TIMESTAMP(CURRENT_TIMESTAMP(6)) - MIN(UNIX_TIMESTAMP(since))) AS dead_oldest_seconds
FROM (
    SELECT COALESCE(p.created_at, p.parked_at) AS since
    FROM {parked} p FORCE INDEX (state) WHERE p.state = 'dead' ORDER BY p.seq LIMIT {count_max}
) counted
