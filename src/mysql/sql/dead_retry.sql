-- Makes parked rows due: ? is a JSON array of their seq as "s", and of "b": 1 where an earlier parked row of its key is
-- there, after which it becomes due.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (seq BIGINT UNSIGNED PATH '$.s', is_behind INT PATH '$.b')) j
STRAIGHT_JOIN {parked} p FORCE INDEX (PRIMARY) ON p.seq = j.seq
SET p.due = IF(p.state IN ('refused', 'unsettled') OR NOT j.is_behind, UTC_TIMESTAMP(6),
               IF(p.state = 'scheduled', p.due, NULL)),
    p.waits_for = IF(p.state = 'waiting', NULL, p.waits_for),
    p.state = IF(p.state NOT IN ('dead', 'retry', 'behind', 'waiting'), p.state, IF(j.is_behind, 'behind', 'retry')),
    p.attempts = 0
WHERE p.sent_at IS NULL
