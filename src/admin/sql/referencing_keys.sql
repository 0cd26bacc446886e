-- use: desk referencing_keys
-- The foreign keys that reference the outbox and keep its rows from being deleted: the key, and its table.
SELECT quote_ident(conname), conrelid::regclass::text
FROM pg_catalog.pg_constraint
WHERE confrelid = to_regclass({outbox_text}) AND contype = 'f' AND conparentid = 0 AND confdeltype IN ('a', 'r')
ORDER BY 2, 1
