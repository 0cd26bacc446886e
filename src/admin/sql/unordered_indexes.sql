-- use: desk unordered_indexes if has_sent_at by_slice
-- The indexes over all unsent rows by id alone, by which claims of order = "none" go.
-- $1 name the column id; $2 text the column sent_at.
SELECT i.indexrelid::regclass
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE i.indrelid = to_regclass({outbox_text}) AND i.indnkeyatts = 1 AND NOT i.indisunique AND a.attname = $1
  AND pg_get_expr(i.indpred, i.indrelid) = format('(%I IS NULL)', $2::text)
