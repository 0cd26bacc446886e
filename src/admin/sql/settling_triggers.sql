-- use: desk settling_triggers
-- The triggers and rules of the outbox that may run when the relay settles a row: the name, and which of both it is.
-- 8 is TRIGGER_TYPE_DELETE, 16 TRIGGER_TYPE_UPDATE (pg_trigger.h).
SELECT quote_ident(tgname), 'trigger'
FROM pg_catalog.pg_trigger
WHERE tgrelid = to_regclass({outbox_text}) AND NOT tgisinternal AND tgenabled <> 'D'
  AND tgtype & CASE WHEN {if marking}true{else}false{end} THEN 16 | 8 ELSE 8 END <> 0
UNION ALL
SELECT quote_ident(rulename), 'rule'
FROM pg_catalog.pg_rewrite
WHERE ev_class = to_regclass({outbox_text})
ORDER BY 2, 1
