-- use: desk lock_partition if partitioned
-- Keeps everybody from a partition of which all ids were drawn, from before its rows are looked at until it is gone or
-- empty. Who inserts into another one does not wait, and nothing waits for a transaction that reads this one.
SET LOCAL lock_timeout = {drop_ms};
LOCK TABLE ONLY {partition} IN ACCESS EXCLUSIVE MODE
