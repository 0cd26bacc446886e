-- The sizes of the tables, by the server's statistics.
SELECT MAX(IF(t.TABLE_NAME = {table_text}, t.DATA_LENGTH + t.INDEX_LENGTH, NULL)) AS table_bytes,
       MAX(IF(t.TABLE_NAME = {table_text}, t.INDEX_LENGTH, NULL)) AS index_bytes,
       MAX(IF(t.TABLE_NAME <> {table_text}, t.DATA_LENGTH + t.INDEX_LENGTH, NULL)) AS parked_table_bytes
FROM information_schema.TABLES t
WHERE t.TABLE_SCHEMA = {schema_text} AND t.TABLE_NAME IN ({table_text}, CONCAT(LEFT({table_text}, 56), '_parked'))
