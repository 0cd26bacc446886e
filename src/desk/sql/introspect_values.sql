-- use: desk introspect_values
-- The query by which `introspect` reads which values 1,000 rows have in the columns that may be a status, of those that
-- this role may read.
WITH {guesses}
SELECT format('SELECT jsonb_build_object(%s) AS sampled', string_agg(format(
           '%L, (SELECT coalesce(jsonb_agg(DISTINCT left(value, 64)), ''[]'')'
           ' FROM (SELECT %I::text AS value FROM %s LIMIT 1000) sample)', said, said, {outbox_text}), ', '))
FROM (SELECT attname::text AS said, attnum, atttypid FROM pg_catalog.pg_attribute
      WHERE attrelid = {outbox_oid} AND attnum > 0 AND NOT attisdropped) columns
JOIN pg_catalog.pg_type t ON t.oid = atttypid
WHERE typcategory IN ('S', 'E') AND ('status', {folded}) IN (TABLE guesses)
  AND has_column_privilege({outbox_oid}, attnum, 'SELECT')
