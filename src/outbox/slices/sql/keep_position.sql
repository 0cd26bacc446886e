-- Part of the statements that lock slices: keeps this statement's snapshot and WAL position for the claim after it
-- (claim_position.sql).
SELECT set_config('outbox_relay.snapshot', pg_current_snapshot()::text, true)
    || set_config('outbox_relay.wal', pg_current_wal_insert_lsn()::text, true) AS seen
