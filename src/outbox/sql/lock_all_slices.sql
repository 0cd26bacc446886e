-- use: lane lock_all_slices if by_slice position
-- Waits for the claims of all lanes, and keeps others from claiming.
SELECT count(*) FROM (SELECT FROM {slice_table} ORDER BY slice FOR UPDATE) locked
