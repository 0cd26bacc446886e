-- The columns of a table for which `introspect` proposes a configuration: name, the same as SQL and as the
-- configuration write it, type, its category, whether it is NOT NULL, the constant that is its default, and the values
-- that its type or a CHECK of it alone lets it have, a line each; the table's name as SQL
-- writes it, without its schema; and whether the column alone is the primary key.
SELECT a.attname, quote_ident(a.attname),
       CASE WHEN a.attname::text ~ '[".]|^ | $' THEN '"' || replace(a.attname::text, '"', '""') || '"'
            ELSE a.attname::text END,
       format_type(a.atttypid, a.atttypmod), t.typcategory, a.attnotnull,
       substring(pg_get_expr(d.adbin, d.adrelid) FROM '^''([^'']*)''(::[a-z "_.]+)?$'),
       (SELECT string_agg(value, E'\n')
        FROM (SELECT enumlabel AS value FROM pg_catalog.pg_enum WHERE enumtypid = a.atttypid
              UNION
              SELECT literal[1]
              FROM pg_catalog.pg_constraint c,
                   regexp_matches(pg_get_constraintdef(c.oid), '''([^'']*)''', 'g') AS literal
              WHERE c.conrelid = a.attrelid AND c.contype = 'c' AND c.conkey = ARRAY[a.attnum]) known),
       quote_ident(r.relname),
       EXISTS (SELECT FROM pg_catalog.pg_index i
               WHERE i.indrelid = a.attrelid AND i.indisprimary AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum)
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
JOIN pg_catalog.pg_class r ON r.oid = a.attrelid
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = to_regclass({outbox_text}) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
