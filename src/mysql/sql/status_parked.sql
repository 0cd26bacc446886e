-- The parked and the dead rows, counted up to a limit, and the ages of the oldest. Rows that wait for their time, and
-- those behind them, have no age.
SELECT COUNT(*) AS parked, COALESCE(SUM(early), 0) AS scheduled,
       COALESCE(SUM(state IN ('refused', 'unsettled')), 0) AS refused,
       COALESCE(SUM(due IS NULL AND state IN ('behind', 'paused')), 0) AS _held,
       GREATEST(0, UNIX_TIMESTAMP(CURRENT_TIMESTAMP(6)) - MIN(IF(early, NULL, UNIX_TIMESTAMP(since))))
           AS parked_oldest_seconds,
       GREATEST(0, MIN(UNIX_TIMESTAMP(due)) - UNIX_TIMESTAMP(CURRENT_TIMESTAMP(6))) AS next_try_seconds
FROM (
    SELECT p.state, p.due, COALESCE(p.created_at, p.parked_at) AS since,
           p.state = 'scheduled' AND p.due > UTC_TIMESTAMP(6)
           OR p.state = 'behind' AND EXISTS (
               SELECT 1 FROM {parked} e FORCE INDEX (key_order)
               WHERE e.key_hash = p.key_hash AND e.`key` = p.`key` AND e.state = 'scheduled'
                 AND e.due > UTC_TIMESTAMP(6)) AS early
    FROM {parked} p WHERE p.sent_at IS NULL AND p.state <> 'dead' ORDER BY p.due IS NULL, p.due LIMIT {count_max}
) counted
