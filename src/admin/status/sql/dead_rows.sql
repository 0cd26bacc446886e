-- How many rows are dead, up to a limit, and the age of the oldest in seconds.
-- $1 int8 the limit.
SELECT count(*), extract(epoch FROM clock_timestamp() - min({parked_time}))
FROM (SELECT * FROM {parked} WHERE state = 'dead' ORDER BY seq LIMIT $1::int8) first
