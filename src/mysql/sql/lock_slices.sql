-- Begins a transaction and locks free slices of these: who has the row of a slice has its rows. Nothing may sort here,
-- or all rows that are sorted would be locked. A relay with another number of slices locks none.
START TRANSACTION;
SELECT s.slice FROM {slice_table} s FORCE INDEX (PRIMARY)
WHERE s.slice IN ({candidates}) AND s.slices = {slices} LIMIT {limit} FOR UPDATE SKIP LOCKED
