-- What the outbox is: its engine (NULL: a view), an index that finds unsent rows (NULL: none), and whether `init` has
-- made it.
SELECT t.ENGINE, t.TABLE_TYPE,
       (SELECT MIN(s.INDEX_NAME) FROM information_schema.STATISTICS s
        WHERE s.TABLE_SCHEMA = t.TABLE_SCHEMA AND s.TABLE_NAME = t.TABLE_NAME AND s.SEQ_IN_INDEX = 1
          AND s.COLUMN_NAME = {sent_at_text}),
       (SELECT COUNT(*) FROM information_schema.STATISTICS s
        WHERE s.TABLE_SCHEMA = t.TABLE_SCHEMA AND s.TABLE_NAME = t.TABLE_NAME AND s.INDEX_NAME = 'PRIMARY'),
       t.TABLE_COMMENT LIKE 'outbox-relay:%'
FROM information_schema.TABLES t WHERE t.TABLE_SCHEMA = {schema_text} AND t.TABLE_NAME = {table_text}
