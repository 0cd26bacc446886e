-- use: desk end_previous_backend
-- Ends the backend of the session's previous connection, if it is still alive. Returns the name of the present one. A
-- backend is named by its pid and start time, because pids are reused.
-- $1 text the name of the previous one.
WITH backend AS (
    SELECT pid, pid || ' ' || extract(epoch FROM backend_start) AS name
    FROM pg_catalog.pg_stat_activity
    WHERE application_name LIKE 'outbox-relay/%'
)
SELECT name, (SELECT pg_terminate_backend(old.pid) FROM backend old WHERE old.name = $1 AND old.pid <> pg_backend_pid())
FROM backend
WHERE pid = pg_backend_pid()
