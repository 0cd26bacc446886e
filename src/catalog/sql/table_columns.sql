-- use: desk table_columns
-- The columns of the outbox: name, type, base type, whether a unique index is on the column alone, whether its text
-- depends on no setting, whether it is NOT NULL, whether it has a default, its type's category, and whether its comment
-- says that only the relay writes it.
-- $1 text the schema; $2 text the table.
SELECT a.attname, format_type(a.atttypid, a.atttypmod), {base_type},
       EXISTS (SELECT FROM pg_catalog.pg_index i
               WHERE i.indrelid = a.attrelid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
                 AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum),
       p.provolatile = 'i', a.attnotnull OR t.typnotnull, a.atthasdef, t.typcategory,
       coalesce(strpos(col_description(a.attrelid, a.attnum), '{only_relay_writes}') > 0, false)
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
JOIN pg_catalog.pg_proc p ON p.oid = t.typoutput
WHERE a.attrelid = format('%I.%I', $1::text, $2::text)::regclass AND a.attnum > 0 AND NOT a.attisdropped
