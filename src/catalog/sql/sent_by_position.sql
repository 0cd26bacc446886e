-- When a row was sent, with on_sent = "position": what the first progress says that has it. NULL: the newest progress,
-- or a note (catalog/refused.h), says that it was not sent.
coalesce({sent_at}, (
    SELECT (
        SELECT progress.settled_at
        FROM {progress} progress
        WHERE progress.slice = relay_slice AND progress.top >= relay_id
          AND (relay_id < progress.low
               OR pg_visible_in_snapshot(relay_xid, progress.snapshots[1 + width_bucket(relay_id - 1, progress.ends)]))
        ORDER BY progress.top, progress.number LIMIT 1)
    FROM (SELECT {slice_of_row} AS relay_slice, {id}::int8 AS relay_id, {xid} AS relay_xid) relay_row, {progress_at}
    WHERE NOT {is_unsent_at} AND {is_not_noted}))
