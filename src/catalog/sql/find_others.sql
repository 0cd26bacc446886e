-- use: desk find_others
-- What may be meant by a table that is not there: whether its schema is missing; a table whose name is the same but
-- for capitals and underscores, in the schema or, for an unqualified name, in the search_path (a schema's name may
-- differ in the same way); and a table of this name in another schema. Both are written as for the configuration.
-- $1 name the schema; $2 name the table; $3 name[] the search_path, empty for a qualified name.
WITH schemas AS (
    SELECT oid, nspname,
           lower(replace(nspname::text, '_', '') COLLATE "C")
               = lower(replace($1::text, '_', '') COLLATE "C") AS is_like
    FROM pg_catalog.pg_namespace
    WHERE nspname !~ '^(pg_|information_schema$)'
), tables AS (
    SELECT CASE WHEN nspname::text ~ '[".]|^ | $' THEN '"' || replace(nspname::text, '"', '""') || '"'
                ELSE nspname::text END || '.'
           || CASE WHEN relname::text ~ '[".]|^ | $' THEN '"' || replace(relname::text, '"', '""') || '"'
                   ELSE relname::text END AS name,
           nspname, relname,
           is_like OR nspname = ANY ($3::name[]) AS is_near
    FROM schemas s
    JOIN pg_catalog.pg_class c
        ON c.relnamespace = s.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
           AND lower(replace(c.relname::text, '_', '') COLLATE "C")
               = lower(replace($2::text, '_', '') COLLATE "C")
)
SELECT NOT EXISTS (SELECT FROM schemas WHERE nspname = $1),
       coalesce(
           (SELECT name FROM tables WHERE is_near ORDER BY nspname = $1 DESC, relname LIMIT 1),
           (SELECT CASE WHEN nspname::text ~ '[".]|^ | $' THEN '"' || replace(nspname::text, '"', '""') || '"'
                        ELSE nspname::text END || '.'
                   || CASE WHEN $2::text ~ '[".]|^ | $' THEN '"' || replace($2::text, '"', '""') || '"'
                           ELSE $2::text END
            FROM schemas
            WHERE is_like AND nspname <> $1 AND NOT EXISTS (SELECT FROM schemas WHERE nspname = $1)
            LIMIT 1)),
       (SELECT name
        FROM tables
        WHERE NOT is_near AND relname = $2 AND has_schema_privilege(nspname, 'USAGE')
        ORDER BY nspname LIMIT 1)
