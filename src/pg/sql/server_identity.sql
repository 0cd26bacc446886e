-- use: desk server_identity
-- The cluster's identifier and its timeline; NULL: the server is read-only. The timeline is taken from the name of the
-- WAL file: after a promotion the control file shows it only from the next checkpoint on.
SELECT system_identifier,
       CASE WHEN NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off'
            THEN ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int8 END
FROM pg_control_system()
