-- use: desk purge_covered if position
-- Deletes rows of the page with the lowest ids, a slice at a time: those of a slice whose low id rose above all of its
-- rows in the page long enough ago. Returns their number. Such a row was sent when the low id rose above it, or before,
-- so that one look at the progress of each slice replaces the time of each row, which is half of what purge.sql costs.
-- Below the low id a row is unsent if its id was given again, or if it has a note; and one that has a time in sent_at
-- was sent then. What is left is for purge.sql.
-- $1 int8 the age in ms.
WITH page AS MATERIALIZED (
    SELECT {row_of_purge} AS relay_row, xmin AS relay_version, {slice_of_row} AS relay_slice, {id}, {xid}, {sent_at},
           {is_not_noted} AS relay_is_not_noted
    FROM {purged_table} {outbox_name}
    WHERE {was_sent}
    ORDER BY {id} LIMIT {purge_rows}
), covered AS MATERIALIZED (
    SELECT relay_slice, newest.top AS relay_top, newest.low AS relay_from, newest.ends AS relay_ends,
           newest.snapshots AS relay_snapshots
    FROM (SELECT relay_slice, max({id}) AS relay_last FROM page GROUP BY relay_slice) slices,
    LATERAL (
        SELECT *
        FROM {progress} progress
        WHERE progress.slice = relay_slice
        ORDER BY progress.top DESC, progress.number DESC LIMIT 1
    ) newest,
    LATERAL (
        SELECT settled_at
        FROM (
            SELECT top, number, low, settled_at
            FROM {progress} progress
            WHERE progress.slice = relay_slice AND progress.top >= relay_last AND newest.low > relay_last
            ORDER BY progress.top, progress.number LIMIT 100 -- more while a low id stood still: too many to read
        ) next
        WHERE next.low > relay_last
        ORDER BY next.top, next.number LIMIT 1
    ) rise
    WHERE rise.settled_at < clock_timestamp() - $1::int8 * interval '1 millisecond'
), purged AS (
    DELETE FROM {purged_table} {outbox_name}
    USING (
        SELECT relay_row, relay_version
        FROM page JOIN covered USING (relay_slice)
        WHERE {sent_at} IS NULL AND {is_unsent_at} IS FALSE AND relay_is_not_noted
    ) relay_old
    WHERE {row_of_purge} = relay_row AND xmin = relay_version
      {if partitioned}AND {partitions_noted}{end}
    RETURNING 1
)
SELECT count(*) FROM purged
