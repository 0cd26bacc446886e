-- Why rows are parked, the most frequent reasons first: of the rows that are tried next, and of the newest dead ones.
SELECT COUNT(*) AS `count`, reason
FROM (
    (SELECT LEFT(COALESCE(p.error, ''), 120) AS reason FROM {parked} p FORCE INDEX (due)
     WHERE p.due IS NOT NULL AND p.sent_at IS NULL AND p.state <> 'dead' ORDER BY p.due LIMIT 1000)
    UNION ALL
    (SELECT LEFT(COALESCE(p.error, ''), 120) FROM {parked} p FORCE INDEX (state)
     WHERE p.state = 'dead' ORDER BY p.seq DESC LIMIT 1000)
) reasons
GROUP BY reason ORDER BY 1 DESC, 2 LIMIT 5
