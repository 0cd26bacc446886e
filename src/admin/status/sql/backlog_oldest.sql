-- use: desk backlog_oldest if aged
-- use: desk backlog_oldest_from if aged integer_ids with unsent_from
-- The age in seconds of the oldest unsent row, how many of the rows looked at have a created_at that gives no age, and
-- the first of these.
-- $1 int8 how many rows are looked at, of each slice with order = "key".
SELECT extract(epoch FROM clock_timestamp() - min(created)),
       count(*) FILTER (WHERE created IS NULL),
       (array_agg(named ORDER BY id) FILTER (WHERE created IS NULL))[1]
FROM (
    SELECT id,
           {created_time} AS created,
           left(id::text, 64) || ' has ' || coalesce(left(created_at::text, 64), 'NULL') AS named
    FROM (
        {oldest_unsent}
    ) unsent
) aged
