-- Part: whether the owner of this table of pg_class is this role, or has the privileges of the owner of the table
-- "outbox", as a superuser does. Otherwise triggers and constraints of an untrusted owner would run as this role.
(pg_has_role({argument}.relowner, outbox.relowner, 'MEMBER')
 OR {argument}.relowner = (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = current_user))
