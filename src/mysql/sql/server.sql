-- What the server is, and whether a commit that is visible is on disk.
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'read_only',
    'hostname', 'port', 'server_id', 'server_uuid', 'datadir', 'wsrep_on', 'binlog_format',
    'max_allowed_packet')
