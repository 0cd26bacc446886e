-- use: storage oldest_snapshot
-- section: the oldest snapshot
-- without: {"vacuum_held_by": null, "vacuum_held_seconds": null, "vacuum_held_transactions": null, "_held_seconds": {}}
-- What keeps VACUUM from removing dead rows of this database's tables: its kind and who holds it, for how long, and its
-- age in transactions. A snapshot in another database does not, except that of a walsender. That of another VACUUM does
-- not, either. Where the role may not see since when it is held, it is held at least as long as it has been seen here.
-- $1 jsonb the document, with _before: what this said at the last look, as storage, and _settled (settled.sql).
SELECT jsonb_build_object(
    'vacuum_held_by', kind || ' ' || holder, 'vacuum_held_seconds', held, 'vacuum_held_transactions', coalesce(age, 0),
    '_held_seconds', '{"backend": 0, "prepared transaction": 0, "replication slot": 0, "standby": 0}'
                     || CASE WHEN kind IS NULL THEN '{}' ELSE jsonb_build_object(kind, held) END)
FROM (SELECT $1::jsonb #> '{_before, storage}' AS it, ($1::jsonb #>> '{_before, _settled, 1}')::numeric AS at) before
LEFT JOIN LATERAL (
    SELECT kind, holder, age(xmin) AS age, round(coalesce(for_s::numeric, CASE
        WHEN kind || ' ' || holder = it ->> 'vacuum_held_by' AND age(xmin) >= (it ->> 'vacuum_held_transactions')::int8
            THEN (it ->> 'vacuum_held_seconds')::numeric + extract(epoch FROM clock_timestamp())::numeric - at
        END, 0), 6) AS held
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
) holder ON true
