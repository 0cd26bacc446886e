-- use: server check_12_role
-- Of check: the role of the relay.
WITH role AS (
    SELECT EXISTS ({refused_role}) AS is_superuser,
           coalesce((SELECT pg_has_role(relowner, 'USAGE') FROM pg_catalog.pg_class
                     WHERE oid = to_regclass({outbox_text})), false) AS is_owner
)
SELECT 'error' AS level, text, fix
FROM ({refused_role}) refused WHERE {if allow_superuser}false{else}true{end}
UNION ALL
SELECT CASE WHEN is_superuser THEN 'warning' ELSE 'note' END,
       format('role "%s" %s; a restricted role can do less harm', session_user,
              CASE WHEN is_superuser THEN 'is a superuser, or may become one' ELSE 'owns the table' END),
       format('as a superuser: CREATE ROLE relay LOGIN; then: outbox-relay init --grant relay | psql %s; then connect'
              ' as relay', current_database())
FROM role WHERE {if allow_superuser}is_superuser OR is_owner{else}is_owner AND NOT is_superuser{end}
UNION ALL
-- Before it publishes, run makes sure which cluster it is connected to.
SELECT 'error', format('missing privilege: EXECUTE on pg_catalog.pg_control_system() for role "%s" (a superuser can'
                       ' grant it)', session_user),
       format('GRANT EXECUTE ON FUNCTION pg_catalog.pg_control_system() TO %s;', {role_text})
WHERE NOT has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')
