-- The functions that "relay_value", a view of one configured expression, calls and that are not PostgreSQL's own: name,
-- owner, whether that is a role with whose rights the relay works anyway: the outbox's owner, this role, a superuser.
WITH RECURSIVE reach (class, id) AS (
    SELECT 'pg_catalog.pg_rewrite'::regclass::oid, r.oid
    FROM pg_catalog.pg_rewrite r
    WHERE r.ev_class = 'pg_temp.relay_value'::regclass
    {reach}
)
SELECT p.oid::regprocedure, o.rolname,
       o.rolsuper OR o.rolname = current_user
       OR o.oid = (SELECT c.relowner FROM pg_catalog.pg_class c WHERE c.oid = {oid_of:outbox})
FROM (SELECT DISTINCT id FROM reach WHERE class = 'pg_catalog.pg_proc'::regclass) used
JOIN pg_catalog.pg_proc p ON p.oid = used.id
JOIN pg_catalog.pg_roles o ON o.oid = p.proowner
WHERE p.pronamespace <> 'pg_catalog'::regnamespace
ORDER BY 3, 1
