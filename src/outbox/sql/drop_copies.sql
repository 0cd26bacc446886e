-- Part: deletes the copies of rows that are taken out of the outbox again, because their owner had brought them back
-- within `where`. The copy of another row that had the id of one stays.
DELETE FROM {parked} copy USING taken
WHERE copy.in_outbox IS TRUE AND copy.id = taken.id AND coalesce(copy.identity, taken.identity) = taken.identity
RETURNING copy.id AS dropped_id, copy.seq AS dropped_seq
