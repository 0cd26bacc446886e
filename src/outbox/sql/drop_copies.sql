-- Part: deletes the copies of rows that are taken out of the outbox again, because their owner had brought them back
-- within `where`. Another event with the id of one, after a TRUNCATE, does not replace it.
DELETE FROM {parked} copy USING taken
WHERE copy.in_outbox IS TRUE AND copy.id = taken.id{is_same_event}
RETURNING copy.id AS replaced_id
