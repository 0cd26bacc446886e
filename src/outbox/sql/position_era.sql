-- use: lane position_era if by_slice position
-- Whether the positions were made with the ids that are drawn now (position_anew.sql): with the same file nodes and
-- cluster; no higher id was passed than is drawn, but those of before they began anew; and the first row of the table,
-- if its id lies below the low one, is not younger than its slice's last snapshot.
-- $1 text the identity of the cluster.
SELECT coalesce((SELECT {if partitioned}substr(value, strpos(value, ' ')){else}value{end}
                 FROM {control} WHERE kind = 'setting' AND name = 'position'), '') AS era,
       EXISTS (
           SELECT FROM {control}
           WHERE kind = 'setting' AND name = 'position'
             AND starts_with(value, ({position_nodes}) || ' ' || $1::text || ' ')
             AND coalesce({highest_top} <= greatest(
                     {if sequence}pg_sequence_last_value({sequence}){else}NULL{end},
                     nullif(split_part(value, ' ', 4), '')::int8), true))
       AND NOT EXISTS (
           SELECT FROM (
               SELECT relay_xid, relay_id, relay_slice
               FROM (
                   SELECT {xid} AS relay_xid, {id} AS relay_id, {slice_of_row} AS relay_slice
                   FROM {outbox} ORDER BY {outbox_name}.{id} LIMIT 1
               ) rows
           ) first, {progress_at}
           WHERE relay_id < relay_from AND NOT pg_visible_in_snapshot(relay_xid, relay_snapshots[1])) AS current
