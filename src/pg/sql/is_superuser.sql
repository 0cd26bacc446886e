-- use: desk is_superuser
-- Whether the session's role is a superuser, or can become one: by SET ROLE, or because it may run
-- programs, read or write files as the server's user of the operating system.
SELECT EXISTS (
    SELECT FROM pg_catalog.pg_roles r
    WHERE (r.rolsuper
           OR r.rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files'))
      AND pg_has_role(session_user, r.oid, 'MEMBER'))
