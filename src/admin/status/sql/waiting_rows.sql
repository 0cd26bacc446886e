-- What parked rows wait for, the most frequent first, at most five: the destination ('': an earlier row of the key),
-- the number of rows, and an error.
-- $1 int8 how many rows are looked at.
SELECT coalesce(left(waits_for, 200), ''), count(*), coalesce(left(min(error), 300), '')
FROM (
    SELECT state, waits_for, error FROM {parked} WHERE sent_at IS NULL AND state <> 'dead' ORDER BY due LIMIT $1::int8
) waiting
WHERE state IN ('waiting', 'behind')
GROUP BY 1
ORDER BY 2 DESC, 1 LIMIT 5
