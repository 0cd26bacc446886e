-- use: desk id_indexes if !by_slice
-- The valid indexes of the outbox by id: whether claims can use it, and its predicate. With on_sent = "mark" the index
-- must exclude sent rows; with "delete" an index over all rows is accepted too.
-- $1 text the schema; $2 text the table; $3 name the column id; $4 text the column sent_at; $5 text on_sent.
SELECT CASE WHEN i.indpred IS NULL THEN $5 = 'delete'
            ELSE pg_get_expr(i.indpred, i.indrelid) = format('(%I IS NULL)', coalesce($4::text, '')) END,
       pg_get_expr(i.indpred, i.indrelid)
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE i.indrelid = format('%I.%I', $1::text, $2::text)::regclass AND i.indisvalid AND a.attname = $3
