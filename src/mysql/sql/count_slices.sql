-- How many slices have their row, and how many there are to be.
SELECT COUNT(*), MAX(s.slices) FROM {slice_table} s
