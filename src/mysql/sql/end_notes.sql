-- Deletes notes: ? is a JSON array of their seq.
DELETE p FROM JSON_TABLE(?, '$[*]' COLUMNS (seq BIGINT UNSIGNED PATH '$')) j
STRAIGHT_JOIN {parked} p FORCE INDEX (PRIMARY) ON p.seq = j.seq
