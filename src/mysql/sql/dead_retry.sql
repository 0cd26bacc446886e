-- Makes parked rows due: ? is a JSON array of their seq. One with an earlier parked row of its key becomes due when
-- that one has left.
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (seq BIGINT UNSIGNED PATH '$')) j
STRAIGHT_JOIN {parked} p FORCE INDEX (PRIMARY) ON p.seq = j.seq
LEFT JOIN (
    SELECT h.key_hash, h.`key`, MIN(h.id) AS id
    FROM {parked} h WHERE h.sent_at IS NULL AND h.key_hash IS NOT NULL
    GROUP BY h.key_hash, h.`key`
) head ON head.key_hash = p.key_hash AND head.`key` = p.`key` AND head.id < p.id
SET p.due = IF(p.state IN ('refused', 'unsettled') OR head.id IS NULL, UTC_TIMESTAMP(6),
               IF(p.state = 'scheduled', p.due, NULL)),
    p.waits_for = IF(p.state = 'waiting', NULL, p.waits_for),
    p.state = IF(p.state NOT IN ('dead', 'retry', 'behind', 'waiting'), p.state,
                 IF(head.id IS NULL, 'retry', 'behind')),
    p.attempts = 0
WHERE p.sent_at IS NULL
