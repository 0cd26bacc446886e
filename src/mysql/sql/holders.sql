-- Who may still commit a row of the outbox: the sessions that have a metadata lock on it which is more than a reader's.
-- NULL: MySQL does not note all locks, since not even this statement's own is there, or one was lost.
{if is_mariadb}
SELECT DISTINCT m.THREAD_ID FROM information_schema.METADATA_LOCK_INFO m
WHERE m.TABLE_SCHEMA = {schema_text} AND m.TABLE_NAME = {table_text}
  AND m.LOCK_MODE NOT IN ('MDL_SHARED', 'MDL_SHARED_HIGH_PRIO', 'MDL_SHARED_READ', 'MDL_SHARED_READ_ONLY')
{else}
SELECT CAST(CRC32(CONCAT_WS('/', m.OWNER_THREAD_ID, m.OBJECT_INSTANCE_BEGIN)) AS UNSIGNED) * 4294967296
       + COALESCE(m.OWNER_EVENT_ID, 0) MOD 4294967296
FROM performance_schema.metadata_locks m
WHERE m.OBJECT_TYPE = 'TABLE' AND m.OBJECT_SCHEMA = {schema_text} AND m.OBJECT_NAME = {table_text}
  AND m.LOCK_STATUS = 'GRANTED'
  AND m.LOCK_TYPE NOT IN ('SHARED', 'SHARED_HIGH_PRIO', 'SHARED_READ', 'SHARED_READ_ONLY')
UNION ALL
SELECT NULL WHERE NOT EXISTS (SELECT 1 FROM performance_schema.metadata_locks m
                              WHERE m.OBJECT_SCHEMA = 'performance_schema' AND m.OBJECT_NAME = 'metadata_locks')
  OR EXISTS (SELECT 1 FROM performance_schema.global_status v
             WHERE v.VARIABLE_NAME = 'Performance_schema_metadata_lock_lost' AND v.VARIABLE_VALUE > 0)
{end}
