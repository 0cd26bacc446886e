-- use: lane lock_one_slice if numbered
-- Waits for the lane that works on this slice. $1 int4 the slice; -1: rows without a key, which have none.
SELECT FROM {slice_table} WHERE slice = $1::int4 FOR UPDATE
