-- Part: the oldest unsent rows, as "oldest" with the outbox's columns.
-- $1 int8 how many.
(SELECT * FROM {outbox} WHERE {claimable} AND {is_not_below_unsent} ORDER BY {id} LIMIT $1::int8) oldest
