-- use: desk other_zones
-- The time zones of a new session, and those set for the database and for roles, as far as they differ from this
-- session's in winter or in summer: all, and one of them.
SELECT string_agg(zone, ', ' ORDER BY zone) AS all_of_them, min(zone) AS one
FROM (
    SELECT reset_val AS zone FROM pg_catalog.pg_settings WHERE name = 'TimeZone'
    UNION
    SELECT substr(setting, strpos(setting, '=') + 1)
    FROM pg_catalog.pg_db_role_setting, unnest(setconfig) setting
    WHERE setting ~* '^timezone='
      AND setdatabase IN (0, (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()))
) zones
WHERE EXISTS (
    SELECT FROM (VALUES ('2026-01-01 00:00Z'::timestamptz), ('2026-07-01 00:00Z')) t (at)
    WHERE at AT TIME ZONE zone <> at::timestamp)
