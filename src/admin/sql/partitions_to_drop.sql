-- use: desk partitions_to_drop if partitioned
-- The partitions all ids of which were drawn, and whose last row of each slice was sent so long ago: name, lowest
-- first, and whether it is empty already. Whether each row was sent is looked at under a lock (partition_is_sent.sql).
-- None, if a partition is not this role's to drop.
-- $1 int8 the age in ms.
WITH drawn AS ({id_sequence}), partitions AS MATERIALIZED (
    SELECT * FROM {partitions}
)
SELECT quoted, pg_relation_size(oid) = 0
FROM partitions
WHERE end_id - 1 <= (SELECT pg_sequence_last_value(oid) FROM drawn)
  AND needed_by IS NULL AND (SELECT bool_and(is_ours) FROM partitions)
  AND NOT EXISTS (
      SELECT FROM generate_series(0, {slices} - 1) relay_slices (relay_slice),
      LATERAL (
          SELECT *
          FROM {outbox}
          WHERE ({slice_of_row}, {id}) < (relay_slice, end_id) AND {slice_of_row} >= relay_slice
            AND {id} < end_id AND {id} >= coalesce(first_id, '-9223372036854775808'::int8)
          ORDER BY {slice_of_row} DESC, {outbox_name}.{id} DESC LIMIT 1
      ) {outbox_name}
      WHERE coalesce({sent_time}, 'infinity') >= clock_timestamp() - $1::int8 * interval '1 millisecond')
ORDER BY end_id
