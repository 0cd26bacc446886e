-- use: figures partition_ends if partitioned
-- section: the partitions
-- Of the partitions of the outbox: where their ids end, the highest id drawn, and what takes rows beyond (NULL:
-- nothing).
SELECT jsonb_build_object('_partitions', (
    SELECT jsonb_build_object(
               'end', max(end_id), 'default', min(quoted) FILTER (WHERE is_default),
               'open', coalesce(bool_or(end_id IS NULL AND NOT is_default), false),
               'drawn', (SELECT coalesce(pg_sequence_last_value(oid), 0) FROM ({id_sequence}) drawn))
    FROM {partitions}))
