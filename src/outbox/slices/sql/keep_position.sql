-- Part of the statements that lock slices: keeps this statement's snapshot and WAL position for the claim after it
-- (claim_position.sql). The result is never NULL: a condition that says so has PostgreSQL keep them before it locks
-- anything.
SELECT set_config('outbox_relay.snapshot', pg_current_snapshot()::text, true)
    || set_config('outbox_relay.wal', pg_current_wal_insert_lsn()::text, true) AS is_kept
