-- use: figures partition_ends if partitioned
-- section: the partitions
-- Of the partitions of the outbox: where their ids end, the highest id drawn, how many are ahead of it, whether relays
-- make them, and what takes rows beyond (NULL: nothing).
SELECT jsonb_build_object('_partitions', (
    SELECT jsonb_build_object(
               'end', max(end_id), 'default', min(quoted) FILTER (WHERE is_default),
               'open', coalesce(bool_or(end_id IS NULL AND NOT is_default), false),
               'ahead', count(*) FILTER (WHERE first_id > highest), 'drawn', min(highest),
               'made', EXISTS (SELECT FROM {control} WHERE kind = 'setting' AND name = 'partition rows'))
    FROM (SELECT coalesce(max(pg_sequence_last_value(oid)), 0) AS highest FROM ({id_sequence}) ids) drawn
    LEFT JOIN {partitions} ON true))
