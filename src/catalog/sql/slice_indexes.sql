-- use: desk slice_indexes if by_slice
-- All indexes of the outbox whose first column is an expression: name, expression, whether everything but that
-- expression is as claims need it, whether it has the name that a new index would get, and the predicate.
-- $1 name the column id; $2 text the column sent_at; $3 name the index; $4 text on_sent; $5 text 'where' with a
-- condition in the configuration.
SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname),
       pg_get_indexdef(i.indexrelid, 1, true),
       i.indisvalid AND m.amname = 'btree' AND i.indoption[0] = 0 AND i.indoption[1] = 0 AND a.attname = $1
       AND CASE WHEN i.indpred IS NULL THEN $4 <> 'mark'
                WHEN $4 = 'position' THEN false
                WHEN $5 = 'where' THEN true
                ELSE pg_get_expr(i.indpred, i.indrelid) = format('(%I IS NULL)', coalesce($2::text, '')) END,
       c.relname = $3,
       pg_get_expr(i.indpred, i.indrelid)
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
JOIN pg_catalog.pg_am m ON m.oid = c.relam
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[1]
WHERE i.indrelid = to_regclass({outbox_text}) AND i.indnkeyatts >= 2 AND i.indkey[0] = 0
ORDER BY c.relname
