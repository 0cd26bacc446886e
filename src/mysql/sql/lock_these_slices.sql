-- Waits until no lane has rows of these slices, and keeps lanes from claiming more of them.
SELECT s.slice FROM {slice_table} s FORCE INDEX (PRIMARY) WHERE s.slice IN ({locked}) FOR UPDATE
