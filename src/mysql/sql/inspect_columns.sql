-- The type of each column, whether the server makes its values, the collation, and whether it is a key.
SELECT c.COLUMN_NAME, c.DATA_TYPE, c.EXTRA, COALESCE(c.COLLATION_NAME, ''), c.COLUMN_KEY
FROM information_schema.COLUMNS c
WHERE c.TABLE_SCHEMA = {schema_text} AND c.TABLE_NAME = {table_text}
