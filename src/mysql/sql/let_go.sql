-- Makes the rows due that a pause held back, of each key the first one: ? is the pause.
UPDATE {parked} p
SET p.state = 'retry', p.due = UTC_TIMESTAMP(6), p.waits_for = NULL
WHERE p.waits_for = ? AND p.state = 'paused' AND p.sent_at IS NULL
