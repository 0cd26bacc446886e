-- What parked rows wait for, the most frequent first, at most five: the destination ('': an earlier row of the key),
-- the number of rows, and an error.
-- $1 int8 how many rows are looked at.
SELECT coalesce(left(waits_for, 200), ''), count(*), coalesce(left(min(error), 300), '')
FROM (SELECT waits_for, due, error FROM {parked} WHERE due IS NOT NULL ORDER BY due LIMIT $1::int8) waiting
WHERE {is_no_note} AND NOT {is_paused} OR waits_for IS NULL AND due = 'infinity'
GROUP BY 1
ORDER BY 2 DESC, 1 LIMIT 5
