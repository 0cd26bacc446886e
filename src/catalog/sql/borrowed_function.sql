-- use: desk borrowed_function with borrowed
-- The first function of another role, which is none of a superuser, that a superuser would run by using the tables, and
-- its owner. No row: there is none.
WITH RECURSIVE reach (class, id) AS (
    SELECT 'pg_catalog.pg_class'::regclass::oid, c.oid
    FROM pg_catalog.pg_class c
    WHERE c.oid IN (to_regclass({outbox_text}), to_regclass({parked_text}), to_regclass({slice_table_text}),
        to_regclass({control_text}))
    {reach}
)
SELECT p.oid::regprocedure, o.rolname
FROM reach r
JOIN pg_catalog.pg_proc p ON r.class = 'pg_catalog.pg_proc'::regclass AND p.oid = r.id
JOIN pg_catalog.pg_roles o ON o.oid = p.proowner
WHERE NOT o.rolsuper AND o.rolname <> session_user
ORDER BY p.oid LIMIT 1
