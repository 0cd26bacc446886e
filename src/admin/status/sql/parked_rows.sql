-- Of the rows that will be tried again, in the order in which they are tried, so that rows that are held come last: how
-- many there are, up to a limit, the age of the oldest and the time until the next try in seconds, how many of them
-- wait behind another one of their key or for the end of a pause, and how many for their time, which have no age.
-- $1 int8 the limit.
SELECT count(*),
       extract(epoch FROM clock_timestamp() - min({parked_time})
                              FILTER (WHERE state <> 'scheduled' OR due <= clock_timestamp())),
       -extract(epoch FROM clock_timestamp() - min(due)),
       count(*) FILTER (WHERE due IS NULL AND state IN ('behind', 'paused')),
       count(*) FILTER (WHERE state = 'scheduled' AND due > clock_timestamp())
FROM (SELECT * FROM {parked} WHERE sent_at IS NULL AND state <> 'dead' ORDER BY due LIMIT $1::int8) first
