-- use: desk index_name
-- The name for a new index of claims: the first one, or the other one when that is taken.
-- $1 name the schema; $2 text the name; $3 text the other name.
SELECT CASE WHEN EXISTS (
                SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = $1 AND c.relname = $2::text) THEN $3::text
            ELSE $2::text END
