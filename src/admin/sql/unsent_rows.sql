-- Part: the unsent rows in any order, under its name.
(SELECT * FROM {outbox} WHERE {claimable} AND {is_not_below_unsent}) {outbox_name}
