-- use: desk drop_partition if partitioned
-- Drops a partition, whose rows were sent. PostgreSQL locks the whole outbox for that: an INSERT waits for it, but for
-- each of the two locks no longer than this.
SAVEPOINT relay_drop;
SET LOCAL lock_timeout = {drop_ms};
SET LOCAL statement_timeout = {drop_ms};
LOCK TABLE ONLY {outbox} IN ACCESS EXCLUSIVE MODE;
DELETE FROM {control}
WHERE kind = 'setting' AND name = (SELECT 'partition ' || oid FROM {partitions} WHERE quoted = {partition_text});
DROP TABLE {partition}
