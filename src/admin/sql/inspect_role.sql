-- use: desk inspect_role
-- 1: the role is a superuser, or may become one; 2: it owns the outbox; 3: both; 0: neither.
SELECT (SELECT EXISTS (
    SELECT FROM pg_catalog.pg_roles r
    WHERE (r.rolsuper
           OR r.rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files'))
      AND pg_has_role(session_user, r.oid, 'MEMBER')))::int
       + 2 * coalesce(pg_has_role(rolname,
                                  (SELECT relowner FROM pg_catalog.pg_class WHERE oid = to_regclass({outbox_text})),
                                  'USAGE'), false)::int
FROM pg_catalog.pg_roles
WHERE rolname = current_user
