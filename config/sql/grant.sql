-- What a role needs that relays.
GRANT USAGE ON SCHEMA {schema} TO {role};
GRANT SELECT,{if deletes} DELETE,{end} UPDATE{if locks_column} ({lock_column}){end} ON {outbox} TO {role};
{if numbered}
GRANT UPDATE ({id}) ON {outbox} TO {role};
GRANT USAGE ON SEQUENCE {order_sequence} TO {role};
{end}
GRANT SELECT, INSERT, UPDATE, DELETE ON {parked} TO {role};
GRANT SELECT, INSERT, DELETE ON {control} TO {role};
{if sequence}
GRANT SELECT ON SEQUENCE {sequence} TO {role};
{end}
{if position}
GRANT SELECT, INSERT, DELETE ON {progress} TO {role};
{end}
{if by_slice}
GRANT SELECT, UPDATE (slices) ON {slice_table} TO {role};
{end}
{if database}
GRANT TEMPORARY ON DATABASE {database} TO {role};
{end}
{if !identifies}
-- Only a superuser can grant this. The relay identifies the cluster by it; here PUBLIC may not execute it.
GRANT EXECUTE ON FUNCTION pg_catalog.pg_control_system() TO {role};
{end}
