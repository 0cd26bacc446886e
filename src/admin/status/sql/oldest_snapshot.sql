-- use: desk oldest_snapshot
-- What keeps VACUUM from removing dead rows of this database's tables: its kind, who holds it, its age in transactions,
-- and for how many seconds it is held. A snapshot in another database does not, except that of a walsender. That of
-- another VACUUM does not, either.
SELECT kind, holder, age(xmin), for_s
FROM (
    SELECT CASE WHEN backend_type = 'walsender' THEN 'standby' ELSE 'backend' END,
           concat_ws(' ', 'pid ' || pid, usename, application_name), backend_xmin,
           extract(epoch FROM clock_timestamp() - coalesce(xact_start, backend_start))
    FROM pg_catalog.pg_stat_activity
    WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()
      AND (datname = current_database() OR backend_type = 'walsender')
      AND pid NOT IN (SELECT pid FROM pg_catalog.pg_stat_progress_vacuum)
    UNION ALL
    SELECT 'replication slot', slot_name::text, xmin, NULL
    FROM pg_catalog.pg_replication_slots
    WHERE xmin IS NOT NULL
    UNION ALL
    SELECT 'prepared transaction', gid, transaction, extract(epoch FROM clock_timestamp() - prepared)
    FROM pg_catalog.pg_prepared_xacts
    WHERE database = current_database()
) holders (kind, holder, xmin, for_s)
ORDER BY 3 DESC, 4 DESC NULLS LAST LIMIT 1
