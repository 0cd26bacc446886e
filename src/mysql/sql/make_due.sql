-- Makes parked rows due that nothing else would: ? is a JSON array of their seq.
UPDATE {each_parked}
SET p.due = UTC_TIMESTAMP(6), p.state = IF(p.state = 'behind', 'retry', p.state)
WHERE p.due IS NULL AND p.state IN ('behind', 'waiting', 'paused')
