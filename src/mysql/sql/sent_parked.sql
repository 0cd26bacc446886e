-- Settles parked rows: ? is a JSON array of their seq.
{if deleting}
DELETE p FROM JSON_TABLE(?, '$[*]' COLUMNS (seq BIGINT UNSIGNED PATH '$')) j
STRAIGHT_JOIN {parked} p FORCE INDEX (PRIMARY) ON p.seq = j.seq
{else}
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (seq BIGINT UNSIGNED PATH '$')) j
STRAIGHT_JOIN {parked} p FORCE INDEX (PRIMARY) ON p.seq = j.seq
SET p.state = 'sent', p.sent_at = UTC_TIMESTAMP(6), p.due = NULL, p.waits_for = NULL, p.error = NULL
{end}
