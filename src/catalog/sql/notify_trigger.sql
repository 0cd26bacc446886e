-- use: desk notify_trigger
-- The outbox's oid, whether it has the trigger that notifies, and whether that is enabled. No row: there is no table.
-- The cast to name cuts a long name as CREATE TRIGGER does.
-- $1 text the outbox, quoted; $2 text the trigger.
SELECT c.oid, t.tgname IS NOT NULL, coalesce(t.tgenabled IN ('O', 'A'), false)
FROM pg_catalog.pg_class c
LEFT JOIN pg_catalog.pg_trigger t ON t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgname = $2::name
WHERE c.oid = to_regclass($1)
