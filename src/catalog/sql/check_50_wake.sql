-- use: check check_50_wake
-- Of check: the trigger that notifies relays of inserts.
WITH outbox AS (
    SELECT c.oid, {stem_text} || '_notify' AS trigger, t.tgname IS NOT NULL AS has_trigger,
           coalesce(t.tgenabled IN ('O', 'A'), false) AS fires
    FROM pg_catalog.pg_class c
    LEFT JOIN pg_catalog.pg_trigger t
        ON t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgname = ({stem_text} || '_notify')::name
    WHERE c.oid = {outbox_oid} AND NOT EXISTS ({foreign_function})
), intruder AS (
    -- Who inserts holds the lock in share mode, and an idle relay, which may delete, in exclusive mode; but any role
    -- may take it.
    SELECT a.pid, concat('pid ', a.pid, ' (role "', a.usename, '"',
                         CASE WHEN a.application_name <> '' THEN ', ' || a.application_name END, ')') AS name
    FROM outbox o
    JOIN pg_catalog.pg_locks l ON l.locktype = 'advisory' AND l.granted AND l.classid = {notify_lock}
        AND l.objid = o.oid AND l.objsubid = 2
        AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
    JOIN pg_catalog.pg_stat_activity a USING (pid)
    WHERE o.fires
      AND NOT has_table_privilege(a.usesysid, o.oid, CASE l.mode WHEN 'ExclusiveLock' THEN 'DELETE' ELSE 'INSERT' END)
    ORDER BY a.pid LIMIT 1
)
SELECT 'error' AS level, text, fix
FROM ({foreign_function}) foreign_function
UNION ALL
SELECT 'ok', format('inserts wake idle relays (trigger "%s")', trigger), ''
FROM outbox WHERE fires
UNION ALL
SELECT 'warning', format('%s holds advisory lock ({notify_lock}, %s), by which trigger "%s" learns that a relay is'
                         ' idle, without a right to it: relays find new rows by polling, or each insert notifies in'
                         ' vain', name, oid, trigger),
       format('SELECT pg_catalog.pg_terminate_backend(%s);', pid)
FROM outbox, intruder
UNION ALL
SELECT 'note', 'the trigger that notifies is disabled: idle relays find new rows by polling',
       format('ALTER TABLE %s ENABLE TRIGGER %s;', {outbox_text}, {notify_text})
FROM outbox WHERE has_trigger AND NOT fires
UNION ALL
SELECT 'note', 'no trigger notifies of inserts: idle relays find new rows by polling', 'outbox-relay init --notify'
FROM outbox WHERE NOT has_trigger
