-- use: check check_90_holders
-- use: health status_holders
-- section: who holds VACUUM up
-- Of check, and of status: what has kept PostgreSQL for long from removing rows that were sent since, the longest
-- first, at most five. Of a slot it is known only how many transactions ago its xmin was. Other roles' transactions are
-- visible to members of pg_read_all_stats alone; those that are prepared, and slots, to all. A VACUUM keeps nothing.
SELECT 'warning' AS level, text || ': PostgreSQL cannot remove rows sent since' AS text, fix
FROM (
    SELECT 'transaction of pid ' || pid || ' (role "' || usename || '"'
           || CASE WHEN application_name <> '' THEN ', ' || application_name ELSE '' END
           || ', ' || coalesce(state, backend_type) || ') is open for '
           || (extract(epoch FROM clock_timestamp() - xact_start)::int8 / 60) || ' min' AS text,
           'SELECT pg_catalog.pg_terminate_backend(' || pid || ');' AS fix,
           extract(epoch FROM clock_timestamp() - xact_start) AS held
    FROM pg_catalog.pg_stat_activity
    WHERE (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
      AND xact_start < clock_timestamp() - {long_s} * interval '1 s'
      AND backend_type = 'client backend'
      AND pid NOT IN (SELECT pid FROM pg_catalog.pg_stat_progress_vacuum)
    UNION ALL
    SELECT 'prepared transaction "' || gid || '" (role "' || owner || '") waits for '
           || (extract(epoch FROM clock_timestamp() - prepared)::int8 / 60) || ' min for its COMMIT PREPARED',
           'ROLLBACK PREPARED ' || quote_literal(gid) || '; -- or COMMIT PREPARED, in database '
           || quote_ident(database),
           extract(epoch FROM clock_timestamp() - prepared)
    FROM pg_catalog.pg_prepared_xacts
    WHERE prepared < clock_timestamp() - {long_s} * interval '1 s'
    UNION ALL
    SELECT CASE WHEN active THEN 'a standby or its queries keep, through' ELSE 'the unused' END
           || ' replication slot "' || slot_name || '"' || CASE WHEN active THEN ',' ELSE ' keeps' END
           || ' what was deleted in the last ' || age(xmin) || ' transactions',
           CASE WHEN active THEN 'end the long queries of the standby'
                ELSE 'SELECT pg_catalog.pg_drop_replication_slot(' || quote_literal(slot_name) || ');' END,
           age(xmin)::numeric
    FROM pg_catalog.pg_replication_slots
    WHERE age(xmin) > 100000
) holders
ORDER BY held DESC LIMIT 5
