-- What parked rows wait for, the most frequent first: the destination ('': an earlier row of the key).
SELECT destination, COUNT(*) AS `rows`, COALESCE(LEFT(MIN(error), 300), '') AS why
FROM (
    SELECT COALESCE(LEFT(p.waits_for, 200), '') AS destination, p.error
    FROM {parked} p FORCE INDEX (state) WHERE p.state IN ('waiting', 'behind') AND p.sent_at IS NULL LIMIT {count_max}
) waiting
GROUP BY destination ORDER BY 2 DESC, 1 LIMIT 5
