-- use: desk find_schema
-- The schema of an unqualified name: the first one of the role's own search_path that has a relation of that name, or
-- else the first one.
-- $1 name[] the schemas of the search_path; $2 name.
SELECT place.schema
FROM unnest($1::name[]) WITH ORDINALITY AS place (schema, number)
ORDER BY EXISTS (
    SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = place.schema AND c.relname = $2) DESC, place.number
LIMIT 1
