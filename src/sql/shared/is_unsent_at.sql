-- Part with on_sent = "position": whether the row is unsent by the progress "relay_at" of its slice. A row above the
-- low id is sent if its transaction is visible in the snapshot of the first segment that ends at or above it.
({sent_at} IS NULL
 AND ({id} > relay_top
      OR {id} >= relay_from
         AND NOT coalesce(pg_visible_in_snapshot({xid}, relay_snapshots[1 + width_bucket({id}::int8 - 1, relay_ends)]),
                          false)))
