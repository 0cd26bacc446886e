-- use: desk partition_is_sent if partitioned
-- Of a partition that is locked: whether it still belongs to the outbox and its rows are noted, how many rows it has,
-- and how many of them were not sent so long ago, by the progress that was the newest then and by the newest one now:
-- of a partition that was detached meanwhile, only the second says what was not sent. A row with a note was passed, and
-- is unsent.
-- $1 int8 the age in ms.
WITH judges AS MATERIALIZED (
    SELECT relay_slice, is_newest, coalesce(top, '-9223372036854775808'::int8) AS relay_top,
           coalesce(low, '-9223372036854775808'::int8) AS relay_from, ends AS relay_ends, snapshots AS relay_snapshots
    FROM generate_series(0, {slices} - 1) relay_slices (relay_slice)
    CROSS JOIN (VALUES (false), (true)) times (is_newest)
    LEFT JOIN LATERAL (
        SELECT *
        FROM {progress} progress
        WHERE progress.slice = relay_slice
          AND (is_newest OR progress.settled_at < clock_timestamp() - $1::int8 * interval '1 millisecond')
        ORDER BY progress.top DESC, progress.number DESC LIMIT 1
    ) newest ON true
)
SELECT (SELECT count(*) FROM {partitions}
        WHERE oid = to_regclass({partition_text}) AND end_id IS NOT NULL AND {partitions_noted}) AS is_there,
       count(*) FILTER (WHERE is_newest IS NOT FALSE) AS rows,
       count(*) FILTER (WHERE {is_unsent_at} IS NOT FALSE OR {sent_at} IS NULL AND NOT {is_not_noted}) AS unsent
FROM {partition} {outbox_name}
LEFT JOIN judges ON relay_slice = {slice_of_row}
