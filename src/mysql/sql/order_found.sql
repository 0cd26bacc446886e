-- The triggers that run before a row of the outbox is inserted, in their order: the name, in quotes, and the body.
SELECT CONCAT('`', REPLACE(t.TRIGGER_SCHEMA, '`', '``'), '`.`', REPLACE(t.TRIGGER_NAME, '`', '``'), '`'),
       t.ACTION_STATEMENT
FROM information_schema.TRIGGERS t
WHERE t.EVENT_OBJECT_SCHEMA = {schema_text} AND t.EVENT_OBJECT_TABLE = {table_text}
  AND t.ACTION_TIMING = 'BEFORE' AND t.EVENT_MANIPULATION = 'INSERT'
ORDER BY t.ACTION_ORDER
