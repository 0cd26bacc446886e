-- use: desk count_slices if by_slice
-- The number of slices that the rows of the slice table agree on; 0: they do not.
SELECT CASE WHEN min(slices) = count(*) AND max(slices) = count(*) AND min(slice) = 0 AND max(slice) = count(*) - 1
            THEN count(*) ELSE 0 END
FROM {slice_table}
