-- The columns of a fed table that say in a word or a boolean that a row was sent: the name, quoted, what is written
-- into it, and the condition for rows that are not sent.
-- $1 oid the table.
SELECT '"' || attname || '"',
       CASE typcategory WHEN 'B' THEN 'true' ELSE '''SENT''' END,
       CASE typcategory WHEN 'B' THEN '"' || attname || '" IS NOT TRUE'
                        ELSE '"' || attname || '" OPERATOR(pg_catalog.<>) ''SENT''' END
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE attrelid = $1::oid AND attnum > 0 AND NOT attisdropped
  AND CASE typcategory WHEN 'B' THEN attname ~* '^(is_?)?(processed|published|sent|delivered|dispatched|done)$'
                       ELSE typcategory = 'S' AND attname ~* '^(status|state)$' END
ORDER BY attnum LIMIT 2
