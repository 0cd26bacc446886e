-- use: desk empty_partition if partitioned
-- Gives back the disk of a partition, whose rows were sent. No INSERT into another one waits for this lock.
TRUNCATE ONLY {partition}
