-- Part: deletes the copies of rows that are taken out of the outbox again, because their owner had brought them back
-- within `where`. The copy of another event with the id of one, after a TRUNCATE, stays.
DELETE FROM {parked} copy USING taken
WHERE copy.in_outbox IS TRUE AND copy.id = taken.id
  AND (copy.event_id IS NULL OR taken.relay_event IS NULL OR copy.event_id::text = taken.relay_event)
RETURNING copy.id AS dropped_id, copy.seq AS dropped_seq
