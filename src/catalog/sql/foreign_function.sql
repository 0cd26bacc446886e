-- use: desk foreign_function
-- The function that `init --notify` makes, or the one that the trigger calls, with its owner, if that is a role that
-- could not change the outbox itself.
-- $1 text the outbox, quoted; $2 text the trigger, whose function has the same name.
SELECT p.oid::regprocedure, pg_get_userbyid(p.proowner)
FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_class c ON c.oid = to_regclass($1)
WHERE (p.proname = $2::name AND p.pronamespace = c.relnamespace AND p.pronargs = 0
       OR p.oid IN (SELECT t.tgfoid FROM pg_catalog.pg_trigger t
                    WHERE t.tgrelid = c.oid AND t.tgname = $2::name AND NOT t.tgisinternal))
  AND p.proowner <> c.relowner
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles r
                  WHERE r.oid = p.proowner AND (r.rolsuper OR r.rolname = current_user))
LIMIT 1
