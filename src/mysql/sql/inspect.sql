-- What `check` looks at besides: the version, the largest packet, the step of ids, and the triggers and foreign keys by
-- which a row may be kept from leaving.
SELECT @@version, @@max_allowed_packet, @@auto_increment_increment, @@innodb_flush_log_at_trx_commit,
       (SELECT COUNT(*) FROM information_schema.TRIGGERS t
        WHERE t.EVENT_OBJECT_SCHEMA = {schema_text} AND t.EVENT_OBJECT_TABLE = {table_text}
          AND t.EVENT_MANIPULATION = 'DELETE'),
       (SELECT COUNT(*) FROM information_schema.KEY_COLUMN_USAGE k
        WHERE k.REFERENCED_TABLE_SCHEMA = {schema_text} AND k.REFERENCED_TABLE_NAME = {table_text})
