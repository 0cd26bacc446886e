-- 1: the role is a superuser, or may become one; 2: it owns the outbox; 3: both; 0: neither.
SELECT ({is_superuser})::int
       + 2 * coalesce(pg_has_role(rolname, (SELECT relowner FROM pg_catalog.pg_class WHERE oid = {oid_of:outbox}),
                                  'USAGE'), false)::int
FROM pg_catalog.pg_roles
WHERE rolname = current_user
