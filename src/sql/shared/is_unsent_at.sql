-- Part with on_sent = "position": whether the row is unsent by the progress "relay_at" of its slice. A row is sent if
-- its transaction is visible in the snapshot of the first segment that ends at or above it. Below the low id each row
-- is, but one whose transaction came later, to which an id was given again (position_anew.sql); the number of a
-- transaction that this cluster has not begun is that of a row which was restored.
({sent_at} IS NULL
 AND ({id} > relay_top
      OR NOT coalesce(pg_visible_in_snapshot({xid}, relay_snapshots[1 + width_bucket({id}::int8 - 1, relay_ends)]),
                      {id} < relay_from)
         AND ({id} >= relay_from OR {xid} < pg_snapshot_xmax(pg_current_snapshot()))))
