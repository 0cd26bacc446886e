-- Parked rows, and whether an earlier one of their key is there: {seqs} is a JSON array of their seq. The server would
-- lock what the UPDATE itself reads, and wait for lanes.
SELECT p.seq AS s,
       EXISTS (SELECT 1 FROM {parked} e FORCE INDEX (key_order)
               WHERE e.key_hash = p.key_hash AND e.`key` = p.`key` AND e.sent_at IS NULL AND e.id < p.id) AS b
FROM JSON_TABLE('{seqs}', '$[*]' COLUMNS (seq BIGINT UNSIGNED PATH '$')) j
STRAIGHT_JOIN {parked} p FORCE INDEX (PRIMARY) ON p.seq = j.seq
