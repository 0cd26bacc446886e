-- use: run check_56_position if position
-- Of check: what on_sent = "position" needs of the outbox. A low id says that no lower one will come, so ids must be
-- drawn by the INSERT; the transaction of a row must be one of this cluster.
WITH drawn AS ({id_sequence})
SELECT 'error' AS level,
       format('with on_sent = "position" the ids of %s must be drawn one by one: sequence %s has CACHE %s, INCREMENT'
              ' %s', {outbox_text}, quoted, cache, step) AS text,
       format('ALTER SEQUENCE %s INCREMENT 1 CACHE 1 NO CYCLE;', quoted) AS fix
FROM drawn WHERE cache > 1 OR step < 0 OR cycles
UNION ALL
SELECT 'error', format('with on_sent = "position" the ids of %s must come from a sequence of their column, which this'
                       ' role may read', {outbox_text}),
       coalesce((SELECT format('GRANT SELECT ON SEQUENCE %s TO %s;', quoted, {role_text}) FROM drawn), '')
WHERE NOT EXISTS (SELECT FROM drawn WHERE is_readable)
UNION ALL
SELECT 'error', format('column %s of %s has lost its default: inserts fail, or say nothing of their transaction',
                       {xid_text}, {outbox_text}),
       format('ALTER TABLE %s ALTER COLUMN %s SET DEFAULT pg_catalog.pg_current_xact_id();', {outbox_text}, {xid_text})
WHERE NOT EXISTS (
    SELECT FROM pg_catalog.pg_attrdef d
    JOIN pg_catalog.pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
    WHERE d.adrelid = {outbox_oid} AND a.attname = {xid_name}
      AND pg_get_expr(d.adbin, d.adrelid) LIKE '%pg_current_xact_id()')
UNION ALL
SELECT 'warning', format('no trigger keeps applications from %s of %s, which is then not sent', deed, {outbox_text}),
       CASE WHEN tgname IS NOT NULL THEN format('ALTER TABLE %s ENABLE TRIGGER %s;', {outbox_text}, trigger)
            ELSE format('CREATE TRIGGER %s AFTER %s ON %s FOR EACH ROW WHEN (%s) EXECUTE FUNCTION %s();',
                        trigger, event, {outbox_text}, condition, {progress_text}) END
FROM (VALUES
         ('{position_trigger}', 'UPDATE', 'changing the key of an unsent row',
          format('(OLD.%1$s, OLD.%2$s, OLD.%3$s) IS DISTINCT FROM (NEW.%1$s, NEW.%2$s, NEW.%3$s)',
                 {id_text}, {key_text_name}, {xid_text})),
         ('{xid_trigger}', 'INSERT', format('writing an %s of their own into a row', {xid_text}),
          format('NEW.%s IS DISTINCT FROM pg_catalog.pg_current_xact_id()', {xid_text}))
     ) needed (trigger, event, deed, condition)
LEFT JOIN pg_catalog.pg_trigger ON tgrelid = {outbox_oid} AND tgname = trigger
WHERE tgname IS NULL OR tgenabled NOT IN ('O', 'A')
UNION ALL
SELECT 'error', format('with on_sent = "position" table %s cannot be the target of a subscription: its rows have'
                       ' transactions of another cluster', {outbox_text}),
       'ALTER SUBSCRIPTION ... DROP PUBLICATION, or on_sent = "mark" in [outbox]'
WHERE EXISTS (SELECT FROM pg_catalog.pg_subscription_rel WHERE srrelid = {outbox_oid}
              {if partitioned}OR srrelid IN (SELECT oid FROM {partitions}){end})
{if readable}
UNION ALL
SELECT 'warning', format('rows of %s come from transactions of another cluster: they may be sent more than once as long'
                         ' as a transaction that was there before is running', {outbox_text}),
       'let the restored or replicated rows be inserted without ' || {xid_text}
FROM (SELECT {xid} AS newest FROM {outbox} ORDER BY {outbox_name}.{id} DESC LIMIT 1) last
WHERE newest >= pg_snapshot_xmax(pg_current_snapshot())
{end}
