-- When the table was made or changed, in whole seconds: a later change within the same second would not show. So this
-- waits until that second has passed, also by the clock of the files, which may be some milliseconds late.
SELECT UNIX_TIMESTAMP(t.CREATE_TIME),
       SLEEP(GREATEST(0, LEAST(1.05, 1.05 - COALESCE(UNIX_TIMESTAMP(NOW(6)) - UNIX_TIMESTAMP(t.CREATE_TIME), 2))))
FROM information_schema.TABLES t WHERE t.TABLE_SCHEMA = {schema_text} AND t.TABLE_NAME = {table_text}
