-- use: desk purge_rows if has_sent_at
-- Deletes those of the given rows that are sent and old enough, and returns their number.
-- $1 int8 the age in ms; $2 tid[] the rows; in a partitioned table their ids.
WITH purged AS (
    DELETE FROM {purged_table} {outbox_name}
    WHERE {row_of_purge} = ANY ($2::{if partitioned}{id_type}{else}tid{end}[])
      AND {sent_time} < clock_timestamp() - $1::int8 * interval '1 millisecond' AND {was_sent}
      {if partitioned}AND {partitions_noted}{end}
    RETURNING 1
)
SELECT count(*) FROM purged
