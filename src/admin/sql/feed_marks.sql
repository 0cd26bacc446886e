-- The columns of a fed table that may say in a word or a boolean that a row was sent: the name, the same quoted, and
-- the category of its type.
-- $1 oid the table.
SELECT attname, '"' || attname || '"', typcategory
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE attrelid = $1::oid AND attnum > 0 AND NOT attisdropped AND typcategory IN ('B', 'S')
ORDER BY attnum
