-- use: desk lock_intruder
-- A session that holds the advisory lock by which relays say that they are idle, without a right to it, and its pid.
-- Who inserts holds the lock in share mode, and an idle relay, which may delete, in exclusive mode; but any role may
-- take it.
-- $1 oid the lock's class; $2 oid the outbox.
SELECT concat('pid ', a.pid, ' (role "', a.usename, '"',
              CASE WHEN a.application_name <> '' THEN ', ' || a.application_name END, ')'),
       a.pid
FROM pg_catalog.pg_locks l
JOIN pg_catalog.pg_stat_activity a USING (pid)
WHERE l.locktype = 'advisory' AND l.granted AND l.classid = $1::oid AND l.objid = $2::oid AND l.objsubid = 2
  AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
  AND NOT has_table_privilege(a.usesysid, $2::oid, CASE l.mode WHEN 'ExclusiveLock' THEN 'DELETE' ELSE 'INSERT' END)
ORDER BY a.pid LIMIT 1
