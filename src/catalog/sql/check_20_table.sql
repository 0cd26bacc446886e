-- use: run check_20_table
-- Of check: what the columns of the outbox, its indexes and the configuration are good for.
SELECT 'note' AS level,
       'on_sent = "delete" leaves nothing to audit, and nothing to send again if a broker loses what it has'
       ' acknowledged' AS text,
       '[outbox] on_sent = "mark", with a retention, keeps sent rows for that' AS fix
WHERE {if keeps_sent}false{else}true{end}
UNION ALL
SELECT 'warning', format('rows whose %s is set count as sent, although on_sent is "delete"', {sent_at_text}), ''
WHERE {if keeps_sent}false{else}{if has_sent_at}true{else}false{end}{end}
UNION ALL
SELECT 'ok', 'with the rights of the relay, ' || {called_text}, ''
WHERE {called_text} <> ''
UNION ALL
SELECT 'warning', format('[outbox] where %s, which reads the clock: a row that is outside `where` when it is inserted'
                         ' is never sent', {where_clock_text}),
       'name the time before which a row is not sent in [outbox] due'
WHERE {where_clock_text} <> ''
UNION ALL
SELECT 'note', format('nothing keeps %s distinct: consumers and JetStream drop a second event with the same id;'
                         ' harmless while every id is a fresh UUID (an index costs each insert)', {event_id_text}),
       format('CREATE UNIQUE INDEX CONCURRENTLY ON %s (%s);', {outbox_text}, {event_id_text})
WHERE {if event_id_may_repeat}{if partitioned}false{else}true{end}{else}false{end}
UNION ALL
-- Bounds go by ids, and so do an operator's commands.
SELECT 'warning', format('nothing keeps the ids in column %s of %s distinct: rows that share one may be sent late and'
                         ' out of order', {id_text}, {outbox_text}),
       format('CREATE UNIQUE INDEX CONCURRENTLY ON %s (%s);', {outbox_text}, {id_text})
WHERE {if id_is_unique}false{else}{if has_id}{if numbered}false{else}true{end}{else}false{end}{end}
UNION ALL
{if numbered}
SELECT 'note', format('no index of %s begins with column %s (order): audit, replay{if in_place}, parked rows{end} and'
                      ' explain read the whole table', {outbox_text}, {id_text}),
       format('CREATE INDEX CONCURRENTLY ON %1$s (%2$s) WHERE %2$s IS NOT NULL;', {outbox_text}, {id_text})
WHERE {if keeps_sent}true{else}{if in_place}true{else}false{end}{end} AND NOT EXISTS (
    SELECT
    FROM pg_catalog.pg_index i
    JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
    WHERE i.indrelid = {outbox_oid} AND i.indisvalid AND a.attname = {id_name})
UNION ALL
{end}
SELECT 'ok', format('table %s: %s slice%s', {slice_table_text}, {slices}, CASE {slices} WHEN 1 THEN '' ELSE 's' END), ''
WHERE {if slices_fit}true{else}false{end}
UNION ALL
SELECT 'note', format('index %s serves order = "none" only, and each insert pays for it', i.indexrelid::regclass),
       format('DROP INDEX CONCURRENTLY %s;', i.indexrelid::regclass)
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE {if slices_fit}i.indrelid = {outbox_oid}{else}false{end} AND i.indnkeyatts = 1 AND NOT i.indisunique
  AND a.attname = {id_name} AND pg_get_expr(i.indpred, i.indrelid) = format('(%I IS NULL)', {sent_at_name})
