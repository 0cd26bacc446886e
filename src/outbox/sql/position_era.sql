-- use: lane position_era if by_slice position
-- Whether the positions were made with the ids that are drawn now (position_anew.sql).
-- $1 text the identity of the cluster.
SELECT EXISTS (
           SELECT FROM {control}
           WHERE kind = 'setting' AND name = 'position' AND value = ({position_nodes}) || ' ' || $1::text)
       AND coalesce((SELECT max(top) FROM {progress})
                    <= {if sequence}pg_sequence_last_value({sequence}){else}NULL{end}, true)
