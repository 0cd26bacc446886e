-- Part: the oldest unsent rows, under its name.
-- $1 int8 how many.
(SELECT * FROM {outbox} WHERE {claimable} AND {is_not_below_unsent} ORDER BY {id} LIMIT $1::int8) {outbox_name}
