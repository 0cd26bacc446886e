-- use: lane position_era if by_slice position
-- Whether the positions were made with the ids that are drawn now (position_anew.sql): with the same file nodes and
-- cluster; no low id lies above the next id that is drawn; and the first row of the table, if its id lies below the low
-- one, is not younger than its slice's last snapshot, but for rows of a restored table.
-- $1 text the identity of the cluster.
SELECT {era} AS era,
       EXISTS (
           SELECT FROM {control}
           WHERE kind = 'setting' AND name = 'position'
             AND starts_with(value, ({position_nodes}) || ' ' || $1::text || ' '))
       {if sequence}
       AND (SELECT max(relay_from)
            FROM generate_series(0, {slices} - 1) relay_slices (relay_slice), {progress_at})
           <= least(coalesce(pg_sequence_last_value({sequence}), '-9223372036854775808'), 9223372036854775806) + 1
       {end}
       AND NOT EXISTS (
           SELECT FROM (
               SELECT relay_xid, relay_id, relay_slice
               FROM (
                   SELECT {xid} AS relay_xid, {id} AS relay_id, {slice_of_row} AS relay_slice
                   FROM {outbox} ORDER BY {outbox_name}.{id} LIMIT 1
               ) rows
           ) first, {progress_at}
           WHERE relay_id < relay_from AND relay_id >= coalesce((
                     SELECT nullif(split_part(value, ' ', 4), '')::int8
                     FROM {control} WHERE kind = 'setting' AND name = 'position'), relay_id)
             AND NOT pg_visible_in_snapshot(relay_xid, relay_snapshots[1])) AS current
