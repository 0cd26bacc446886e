-- use: lane lock_one_slice if numbered
-- Returns a row if no other lane works on this slice. Rows without a key have none, and those that came later than the
-- numbers need no order. $1 int4 the slice; -1: the rows without a key.
SELECT WHERE $1::int4 = -1 OR {numbers_are_noted}
UNION ALL
SELECT FROM (SELECT FROM {slice_table} WHERE slice = $1::int4 FOR UPDATE SKIP LOCKED) relay_locked
