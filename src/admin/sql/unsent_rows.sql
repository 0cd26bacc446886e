-- Part: the unsent rows in any order, with the outbox's columns.
(SELECT * FROM {outbox} WHERE {claimable} AND {is_not_below_unsent}) unsent
