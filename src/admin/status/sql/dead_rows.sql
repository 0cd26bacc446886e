-- use: desk dead_rows
-- How many rows are dead, up to a limit, and the age of the oldest in seconds.
-- $1 int8 the limit.
SELECT count(*), extract(epoch FROM clock_timestamp() - min(
    {if has_created_at}coalesce({created_time}, parked_at){else}parked_at{end}))
FROM (SELECT * FROM {parked} WHERE state = 'dead' ORDER BY seq LIMIT $1::int8) first
