-- The type of each column, whether its ids are drawn by the server, and the collation.
SELECT c.COLUMN_NAME, c.DATA_TYPE, c.EXTRA, COALESCE(c.COLLATION_NAME, ''), c.COLUMN_KEY
FROM information_schema.COLUMNS c
WHERE c.TABLE_SCHEMA = {schema_text} AND c.TABLE_NAME = {table_text}
