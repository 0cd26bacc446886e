-- What may be meant by a table that is not there: whether its schema is missing; a table whose name is the same but
-- for capitals and underscores, in the schema or, for an unqualified name, in the search_path (a schema's name may
-- differ in the same way); and a table of this name in another schema. Both are written as for the configuration.
-- $1 name the schema; $2 name the table; $3 name[] the search_path, empty for a qualified name.
WITH schemas AS (
    SELECT oid, nspname, {folded:nspname} = {folded:$1} AS is_like
    FROM pg_catalog.pg_namespace
    WHERE nspname !~ '^(pg_|information_schema$)'
), tables AS (
    SELECT {spelt:nspname} || '.' || {spelt:relname} AS name, nspname, relname,
           is_like OR nspname = ANY ($3::name[]) AS is_near
    FROM schemas s
    JOIN pg_catalog.pg_class c
        ON c.relnamespace = s.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND {folded:c.relname} = {folded:$2}
)
SELECT NOT EXISTS (SELECT FROM schemas WHERE nspname = $1),
       coalesce(
           (SELECT name FROM tables WHERE is_near ORDER BY nspname = $1 DESC, relname LIMIT 1),
           (SELECT {spelt:nspname} || '.' || {spelt:$2}
            FROM schemas
            WHERE is_like AND nspname <> $1 AND NOT EXISTS (SELECT FROM schemas WHERE nspname = $1)
            LIMIT 1)),
       (SELECT name
        FROM tables
        WHERE NOT is_near AND relname = $2 AND has_schema_privilege(nspname, 'USAGE')
        ORDER BY nspname LIMIT 1)
