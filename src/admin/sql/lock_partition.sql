-- use: desk lock_partition if partitioned
-- Keeps everybody from writing to a partition of which all ids were drawn. Who reads it, or inserts into another one,
-- does not wait.
LOCK TABLE ONLY {partition} IN EXCLUSIVE MODE
