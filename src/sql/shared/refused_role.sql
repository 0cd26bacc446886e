-- use: desk refused_role
-- Why a relay does not start as this role, and what to do: it is a superuser, or can become one: by SET ROLE, or
-- because it may run programs, read or write files as the server's user of the operating system. No row: it is none.
SELECT format('role "%s" is a superuser, or may become one: triggers and functions that others add to the outbox would'
              ' run with its rights', session_user) AS text,
       format('as a superuser: CREATE ROLE relay LOGIN; then: outbox-relay init --grant relay | psql %s; then connect'
              ' as relay. Or allow this role with allow_superuser = true in [database]', current_database()) AS fix
FROM pg_catalog.pg_roles r
WHERE (r.rolsuper
       OR r.rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files'))
  AND pg_has_role(session_user, r.oid, 'MEMBER')
LIMIT 1
