-- Part: the progress is about the partitions that there are (note_partitions.sql). Rows of another one that was
-- attached may be unsent, whatever it says.
EXISTS (
    SELECT FROM {control}
    WHERE kind = 'setting' AND name = 'position' AND starts_with(value, {partition_nodes} || ' '))
