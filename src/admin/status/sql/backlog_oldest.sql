-- The age in seconds of the oldest unsent row, how many of the rows looked at have a created_at that gives no age, and
-- the first of these.
-- $1 int8 how many rows are looked at, of each slice with order = "key".
SELECT extract(epoch FROM clock_timestamp() - min(created)),
       count(*) FILTER (WHERE created IS NULL),
       (array_agg(named ORDER BY id) FILTER (WHERE created IS NULL))[1]
FROM (
    SELECT id, {time_of:created_at} AS created,
           left(id::text, 64) || ' has ' || coalesce(left(created_at::text, 64), 'NULL') AS named
    FROM (SELECT {values} FROM {oldest}) unsent
) aged
