-- use: check check_58_partitions if partitioned
-- Of check: the partitions of the outbox, who makes and who drops them, and what somebody has done to them by hand.
WITH drawn AS (
    SELECT coalesce(max(pg_sequence_last_value(oid)), 0) AS highest FROM ({id_sequence}) ids
), partitions AS MATERIALIZED (
    SELECT * FROM {partitions}
), about AS (
    SELECT count(*) AS number, max(end_id) AS end_id, min(quoted) FILTER (WHERE is_default) AS default_name,
           coalesce(bool_or(end_id IS NULL AND NOT is_default), false) AS is_open,
           min(quoted) FILTER (WHERE NOT is_ours) AS foreign_name,
           count(*) FILTER (WHERE first_id > highest) AS ahead, (SELECT highest FROM drawn) AS highest,
           (SELECT value FROM {control} WHERE kind = 'setting' AND name = 'partition rows') AS rows
    FROM partitions, drawn
), outbox AS (
    SELECT c.relnamespace, '"' || replace(n.nspname, '"', '""') || '"' AS schema, c.relowner,
           '"' || replace(pg_get_userbyid(c.relowner), '"', '""') || '"' AS owner
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = {outbox_oid}
)
SELECT 'ok' AS level, format('table %s: %s partition%s, whose ids end at %s; the highest id drawn is %s', {outbox_text},
                             number, CASE number WHEN 1 THEN '' ELSE 's' END, coalesce(end_id::text, 'none'), highest)
           AS text, '' AS fix
FROM about WHERE is_open OR end_id > highest + 1
UNION ALL
SELECT CASE WHEN default_name IS NULL THEN 'error' ELSE 'warning' END,
       format('the ids of %s, %s by now, have run ahead of its partitions, which end at %s: %s', {outbox_text}, highest,
              coalesce(end_id::text, 'none'), CASE
              WHEN default_name IS NULL THEN 'each INSERT fails'
              ELSE format('rows go to partition %s, are sent from there and purged one by one', default_name) END),
       CASE WHEN rows IS NOT NULL AND foreign_name IS NULL THEN 'outbox-relay run'
            ELSE format('ALTER TABLE %s: add partitions, with what has made the others', {outbox_text}) END
FROM about WHERE NOT is_open AND coalesce(end_id, 0) <= highest + 1
UNION ALL
SELECT 'warning', format('the ids of %s, %s by now, come to the end of its partitions, at %s: relays could not make'
                         ' another one, as while a transaction uses the outbox, or none runs', {outbox_text}, highest,
                         end_id), 'outbox-relay run'
FROM about WHERE rows IS NOT NULL AND NOT is_open AND end_id > highest + 1 AND ahead < {partitions_few}
UNION ALL
SELECT 'note', format('relays make no partitions of %s: somebody else must, before its ids come to %s', {outbox_text},
                      end_id), ''
FROM about WHERE rows IS NULL AND NOT is_open
UNION ALL
SELECT 'warning', format('role "%s" does not own partition %s: rows are purged one by one, and VACUUM has to follow',
                         session_user, foreign_name),
       format('GRANT %s TO %s;', owner, {role_text})
FROM about, outbox WHERE foreign_name IS NOT NULL
UNION ALL
SELECT 'warning', format('%s needs partition %s: its rows are purged one by one, and VACUUM has to follow', needed_by,
                         quoted), ''
FROM partitions
WHERE needed_by IS NOT NULL AND end_id IS NOT NULL AND first_id = (
    SELECT min(first_id) FROM partitions WHERE needed_by IS NOT NULL AND end_id IS NOT NULL)
UNION ALL
SELECT 'warning', format('role "%s" cannot make partitions: it is no member of %s, which owns %s', session_user, owner,
                         {outbox_text}),
       format('GRANT %s TO %s;', owner, {role_text})
FROM about, outbox WHERE rows IS NOT NULL AND foreign_name IS NULL AND NOT pg_has_role(relowner, 'MEMBER')
UNION ALL
SELECT 'warning', format('partitions cannot be made: %s may not create tables in schema %s', owner, schema),
       format('GRANT CREATE ON SCHEMA %s TO %s;', schema, owner)
FROM about, outbox WHERE rows IS NOT NULL AND NOT has_schema_privilege(relowner, relnamespace, 'CREATE')
UNION ALL
SELECT 'warning', format('partition %s is being detached, which has not come to its end', i.inhrelid::regclass),
       format('ALTER TABLE %s DETACH PARTITION %s FINALIZE;', {outbox_text}, i.inhrelid::regclass)
FROM pg_catalog.pg_inherits i
WHERE i.inhparent = {outbox_oid} AND to_jsonb(i) ->> 'inhdetachpending' = 'true'
UNION ALL
SELECT 'note', format('table %s was detached from the outbox at %s: what was not sent of it then is sent once it is'
                      ' attached again', about ->> 'name', about ->> 'at'),
       CASE WHEN about ->> 'end' IS NOT NULL THEN
           format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%s) TO (%s);', {outbox_text}, about ->> 'name',
                  coalesce(about ->> 'first', 'MINVALUE'), about ->> 'end') ELSE '' END
FROM (SELECT name, value::jsonb AS about FROM {control} WHERE kind = 'setting' AND name ~ '^partition [0-9]+$') noted
JOIN pg_catalog.pg_class c ON 'partition ' || c.oid = noted.name
WHERE about ? 'left'
