-- use: check check_70_rights
-- Of check: what this role may not do with the tables.
WITH needed (place, name, what, attribute) AS (VALUES
    (1, {outbox_text}, 'SELECT', NULL),
{if settles_column}
    (2, {outbox_text}, 'UPDATE', {if deleting}{id_name}{else}{sent_at_name}{end}),
{end}
{if deletes}
    (3, {outbox_text}, 'DELETE', NULL),
{end}
    (4, {parked_text}, 'SELECT', NULL),
    (5, {parked_text}, 'INSERT', NULL),
    (6, {parked_text}, 'UPDATE', NULL),
    (7, {parked_text}, 'DELETE', NULL),
    (8, {control_text}, 'SELECT', NULL),
    (9, {control_text}, 'INSERT', NULL),
    (10, {control_text}, 'DELETE', NULL){if by_slice},
    (11, {slice_table_text}, 'SELECT', NULL),
    (12, {slice_table_text}, 'UPDATE', 'slices')
{end}
{if numbered},
    (16, {outbox_text}, 'UPDATE', {id_name})
{end}
{if position},
    (13, {progress_text}, 'SELECT', NULL),
    (14, {progress_text}, 'INSERT', NULL),
    (15, {progress_text}, 'DELETE', NULL)
{end}
), denied AS (
    SELECT n.place, n.name, n.what, n.attribute, '"' || replace(n.attribute, '"', '""') || '"' AS quoted
    FROM needed n
    JOIN pg_catalog.pg_class c ON c.oid = to_regclass(n.name)
    LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = n.attribute AND NOT a.attisdropped
    WHERE NOT CASE WHEN n.attribute IS NULL THEN has_table_privilege(c.oid, n.what)
                   ELSE coalesce(has_column_privilege(c.oid, a.attnum, n.what), true) END
)
SELECT 'error' AS level,
       format('row-level security hides rows of %s from role "%s"', {outbox_text}, session_user) AS text,
       format('ALTER ROLE %s BYPASSRLS;', {role_text}) AS fix
WHERE row_security_active({outbox_oid}::oid)
UNION ALL
(SELECT 'error', format('missing privilege: %s%s on %s for role "%s"', what, '(' || attribute || ')', name,
                        session_user),
        format('GRANT %s%s ON %s TO %s;', what, ' (' || quoted || ')', name, {role_text})
 FROM denied ORDER BY place)
