-- use: check check_64_zones if readable
-- Of check: times without a time zone, which may have been written in another zone than they are read in. A time_zone
-- that is written down is believed, unless rows come from the future. Due times lie in the future.
WITH times (name, quoted, what, is_of_future) AS (
    SELECT '', '', '', false WHERE false
{if created_at_lacks_zone}
    UNION ALL
    SELECT 'created_at', {created_at_text}, 'times in messages, and ages,',
           {if id_is_unique}(SELECT {created_at} > now() + interval '1 min' AND {created_at} < now() + interval '1 day'
                             FROM {outbox} ORDER BY {outbox_name}.{id} DESC LIMIT 1){else}false{end}
{end}
{if due_lacks_zone}
    UNION ALL
    SELECT 'due', {due_text}, 'when rows are sent',
           false
{end}
{if sent_at_lacks_zone}
    UNION ALL
    SELECT 'sent_at', {sent_at_text}, 'what retention deletes',
           {if id_is_unique}(SELECT {sent_at} > now() + interval '1 min' AND {sent_at} < now() + interval '1 day'
                             FROM {outbox} ORDER BY {outbox_name}.{id} DESC LIMIT 1){else}false{end}
{end}
), others AS ({other_zones}), doubtful AS (
    SELECT t.*, {if zone_is_given}NULL{else}all_of_them{end} AS zones,
           {if zone_is_given}'ZONE'{else}coalesce(one, 'ZONE'){end} AS zone
    FROM times t, others
)
SELECT 'warning' AS level,
       format('column %s (%s) of %s has no time zone, and is read as %s, but %s: %s may be wrong', quoted, name,
              {outbox_text}, {zone_text}, CASE WHEN zones IS NULL THEN 'the newest row then comes from the future'
                                ELSE 'sessions of this database have TimeZone ' || zones END, what) AS text,
       format('write time_zone = "%1$s", or the zone in which the application writes, in [outbox]; or ALTER TABLE %2$s'
              ' ALTER COLUMN %3$s TYPE pg_catalog.timestamptz USING %3$s AT TIME ZONE ''%1$s'';', zone, {outbox_text},
              quoted) AS fix
FROM doubtful
WHERE zones IS NOT NULL OR is_of_future
