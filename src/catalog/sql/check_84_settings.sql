-- use: check check_84_settings
-- Of check: settings that lose what is committed, or let sent rows pile up. The server's are looked at as a session
-- begins: this one has set some of its own. What a crash empties in the relay's own tables is lost, too: parked rows
-- are nowhere else.
WITH needed (name, consequence) AS (VALUES
    ('fsync', 'a crash of the machine may lose or damage what was committed'),
    ('full_page_writes', 'a crash of the machine may damage the tables'),
    ('synchronous_commit', 'a crash of the server loses the last commits: the application''s events with its data'),
    ('autovacuum', 'sent rows are never removed from the outbox''s files, and claims get slower'),
    ('track_counts', 'autovacuum does not know what to do: sent rows pile up')
), tables AS (
    SELECT t.place, t.name, c.relpersistence, c.reloptions
    FROM (VALUES (1, {outbox_text}), (2, {parked_text}), (3, {slice_table_text}), (4, {control_text})) t (place, name)
    JOIN pg_catalog.pg_class c ON c.oid = to_regclass(t.name)
)
(SELECT 'warning' AS level, format('%s is off: %s', name, consequence) AS text,
        format('ALTER SYSTEM SET %s = on; SELECT pg_catalog.pg_reload_conf();', name) AS fix
 FROM needed
 JOIN pg_catalog.pg_settings USING (name)
 WHERE reset_val = 'off'
 ORDER BY name)
UNION ALL
(SELECT 'warning', format('table %s is unlogged: its rows are lost on a crash', name),
        format('ALTER TABLE %s SET LOGGED;', name)
 FROM tables
 WHERE relpersistence = 'u'
 ORDER BY place)
UNION ALL
(SELECT 'warning', format('autovacuum is off for table %s: sent rows are never removed from its files', name),
        format('ALTER TABLE %s RESET (autovacuum_enabled);', name)
 FROM tables
 WHERE reloptions && '{autovacuum_enabled=false,autovacuum_enabled=off,autovacuum_enabled=0,autovacuum_enabled=no}'
 ORDER BY place)
UNION ALL
SELECT 'note', format('role "%s" does not see how long transactions of others are open', session_user),
       format('GRANT pg_read_all_stats TO %s; -- as a superuser', {role_text})
WHERE NOT pg_has_role('pg_read_all_stats', 'USAGE')
