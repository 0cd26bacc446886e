-- How many of the outbox and the relay's tables beside it there are.
SELECT COUNT(*) AS tables
FROM information_schema.TABLES t
WHERE t.TABLE_SCHEMA = {schema_text}
  AND t.TABLE_NAME IN ({table_text}, CONCAT(LEFT({table_text}, 56), '_parked'),
                       CONCAT(LEFT({table_text}, 57), '_slice'), CONCAT(LEFT({table_text}, 55), '_control'))
