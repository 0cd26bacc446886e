-- use: desk advisory_holder
-- Who holds an advisory lock, and what ends that session. Any role may take one, so its holder need not be one of ours.
-- $1 oid and $2 oid the two keys of the lock.
SELECT 'pid ' || pid || ' (role "' || usename || '"'
       || CASE WHEN application_name <> '' THEN ', ' || application_name ELSE '' END || ')',
       'SELECT pg_catalog.pg_terminate_backend(' || pid || ');'
FROM pg_catalog.pg_locks l
JOIN pg_catalog.pg_stat_activity a USING (pid)
WHERE l.locktype = 'advisory' AND l.granted AND l.classid = $1::oid AND l.objid = $2::oid AND l.objsubid = 2
  AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
LIMIT 1
