-- use: desk purge_covered if position
-- Deletes, of the rows with the lowest ids, those of slices whose bound had passed all of these rows long enough ago,
-- and returns their number: what lies below the bound was sent by then. It does not compute the time of each row, which
-- is half of what purge.sql costs; that one deletes what is left.
-- $1 int8 the age in ms.
WITH page AS MATERIALIZED (
    SELECT {row_of_purge} AS relay_row, xmin AS relay_version, {slice_of_row} AS relay_slice, {id} AS relay_id
    FROM {purged_table} {outbox_name}
    WHERE {was_sent}
    ORDER BY {id} LIMIT {purge_rows}
), passed AS MATERIALIZED (
    SELECT relay_slice, newest.top AS relay_top, newest.low AS relay_from, newest.ends AS relay_ends,
           newest.snapshots AS relay_snapshots
    FROM (SELECT relay_slice, max(relay_id) AS relay_last FROM page GROUP BY relay_slice) slices,
    LATERAL (
        SELECT *
        FROM {progress} progress
        WHERE progress.slice = relay_slice
        ORDER BY progress.top DESC, progress.number DESC LIMIT 1
    ) newest,
    LATERAL (
        SELECT settled_at
        FROM {progress} progress
        WHERE progress.slice = relay_slice AND progress.top >= relay_last AND progress.low > relay_last
        ORDER BY progress.top, progress.number LIMIT 1
    ) passing
    WHERE newest.low > relay_last
      AND passing.settled_at < clock_timestamp() - $1::int8 * interval '1 millisecond'
), purged AS (
    DELETE FROM {purged_table} {outbox_name}
    USING page JOIN passed USING (relay_slice)
    WHERE {row_of_purge} = relay_row AND xmin = relay_version AND {is_unsent_at} IS FALSE AND {is_not_noted}
      {if partitioned}AND {partitions_noted}{end}
    RETURNING 1
)
SELECT count(*) FROM purged
