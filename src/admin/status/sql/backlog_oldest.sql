-- use: figures backlog_oldest if aged with few_rows
-- use: desk backlog_oldest_from if aged integer_ids with few_rows unsent_from
-- section: the age of the oldest unsent row
-- without: {"backlog_oldest_seconds": null, "oldest_seconds": null, "_ageless": 0}
-- The age of the oldest unsent row, how many of the rows looked at have a created_at that gives no age, and the first
-- of these.
SELECT jsonb_build_object(
    'backlog_oldest_seconds', age, 'oldest_seconds', age, '_ageless', ageless, '_ageless_row', row)
FROM (
    SELECT round(extract(epoch FROM greatest(clock_timestamp(), min(created)) - min(created))::numeric, 6) AS age,
           count(*) FILTER (WHERE created IS NULL) AS ageless,
           (array_agg(named ORDER BY id) FILTER (WHERE created IS NULL))[1] AS row
    FROM (
        SELECT id,
               {created_time} AS created,
               left({if numbered}event_id{else}id{end}::text, 64) || CASE
                   WHEN created_at IS NULL THEN ' has NULL'
                   WHEN pg_typeof(created_at)::text ~ '^(timestamp|date)' THEN ' has ' || created_at::text
                   ELSE '' END AS named -- a text may be any value
        FROM (
            {oldest_unsent}
        ) unsent
    ) aged
) oldest
