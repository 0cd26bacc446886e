-- use: desk foreign_function
-- What is wrong with the function that `init --notify` makes, or with the one that the trigger of that name calls: it
-- belongs to a role that could not change the outbox itself. No row: nothing is.
SELECT format('function %s, which runs at each insert, belongs to role %s: whoever inserts would run what that role'
              ' puts into it', p.oid::regprocedure, pg_get_userbyid(p.proowner)) AS text,
       format('DROP FUNCTION %s CASCADE; then outbox-relay init --notify', p.oid::regprocedure) AS fix
FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_class c ON c.oid = to_regclass({outbox_text})
WHERE (p.proname = ({stem_text} || '_notify')::name AND p.pronamespace = c.relnamespace AND p.pronargs = 0
       OR p.oid IN (SELECT t.tgfoid FROM pg_catalog.pg_trigger t
                    WHERE t.tgrelid = c.oid AND t.tgname = ({stem_text} || '_notify')::name AND NOT t.tgisinternal))
  AND p.proowner <> c.relowner
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles r
                  WHERE r.oid = p.proowner AND (r.rolsuper OR r.rolname = current_user))
LIMIT 1
