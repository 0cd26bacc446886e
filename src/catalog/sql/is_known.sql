-- Part: whether the row of the outbox is known of which a parked row is a copy. NULL when it is no copy, and when no
-- row with its id is out of `where`: it was deleted, or brought back. False when that is another row that was given the
-- id, or the same one, changed so that it cannot be told from another.
-- The argument says which parked row "copy" is.
(SELECT bool_or(coalesce(relay_copy_identity, {identity}) = {identity})
 FROM (
     SELECT copy.id AS relay_copy_id, copy.identity AS relay_copy_identity
     FROM {parked} copy
     WHERE {argument} AND copy.in_outbox
 ) relay_copy, {outbox}
 WHERE {id} = relay_copy_id AND {is_out})
