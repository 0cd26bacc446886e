-- Part of a claim of the outbox: the copy that the row has in the parked table, because its owner has brought it back
-- within `where`, is locked, so that nothing keeps it from being deleted once the row is published (end_copies.sql). A
-- row whose copy somebody else has locked is left out. One that has an order is parked again, because of its copy.
CASE WHEN (SELECT EXISTS (SELECT FROM {parked} WHERE in_outbox IS TRUE)) THEN (
    SELECT {ordered_key} IS NOT NULL
           OR count(*) = (SELECT count(*) FROM {parked} copy WHERE copy.in_outbox IS TRUE AND copy.id = {id})
    FROM (SELECT FROM {parked} copy WHERE copy.in_outbox IS TRUE AND copy.id = {id} FOR UPDATE SKIP LOCKED) held
) ELSE true END
