-- Deletes parked rows: ? is a JSON array of their seq.
DELETE p FROM JSON_TABLE(?, '$[*]' COLUMNS (seq BIGINT UNSIGNED PATH '$')) j
STRAIGHT_JOIN {parked} p FORCE INDEX (PRIMARY) ON p.seq = j.seq
WHERE p.sent_at IS NULL AND p.state NOT IN ('refused', 'unsettled')
