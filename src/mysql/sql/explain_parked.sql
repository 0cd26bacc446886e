-- Parked rows as a claim would read them, their state, and why they are parked.
SELECT {claimed_parked_columns}, p.state, p.error
FROM {parked} p
WHERE p.sent_at IS NULL AND p.state NOT IN ('refused', 'unsettled')
  AND (CAST(p.id AS CHAR) IN ({words}) OR p.event_id IN ({words}))
ORDER BY p.id, p.seq LIMIT {limit}
