-- Part of every claim: the position up to which the WAL must be flushed for the claimed rows to be durable
-- (durable_before_publish). It is read before the first lock, so that the claim's own lock records lie after it. If
-- the claim has the same snapshot as the statement that locked the slices, nobody has committed in between; then it
-- keeps that statement's position, and the records of the slice locks need no flush either. A row version whose
-- transaction is younger than snapshot_age may be one that the snapshot does not show.
SELECT set_config('outbox_relay.wal',
           CASE current_setting('outbox_relay.snapshot', true)
               WHEN pg_current_snapshot()::text THEN current_setting('outbox_relay.wal', true)
               ELSE pg_current_wal_insert_lsn()::text
           END, true) AS lsn,
       age(pg_snapshot_xmin(pg_current_snapshot())::xid) AS snapshot_age
