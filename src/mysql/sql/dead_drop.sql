-- Deletes parked rows: ? is a JSON array of their seq.
DELETE p FROM {each_parked}
WHERE p.sent_at IS NULL AND p.state NOT IN ('refused', 'unsettled')
