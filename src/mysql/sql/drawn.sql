-- The highest id that was drawn, and since when the table is what it is.
SELECT t.AUTO_INCREMENT, UNIX_TIMESTAMP(t.CREATE_TIME) FROM information_schema.TABLES t
WHERE t.TABLE_SCHEMA = {schema_text} AND t.TABLE_NAME = {table_text}
