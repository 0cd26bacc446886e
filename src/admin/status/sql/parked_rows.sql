-- use: desk parked_rows
-- Of the rows that will be tried again, in the order in which they are tried, so that rows that are held come last: how
-- many there are, up to a limit, the age of the oldest and the time until the next try in seconds, how many of them
-- wait behind another one of their key or for the end of a pause, and how many for their time or behind a row of their
-- key that does, which have no age.
-- $1 int8 the limit.
WITH first AS MATERIALIZED (
    SELECT * FROM {parked} WHERE sent_at IS NULL AND state <> 'dead' ORDER BY due LIMIT $1::int8
), early AS MATERIALIZED (
    SELECT DISTINCT {key_text} AS key_text
    FROM first
    WHERE state = 'scheduled' AND due > clock_timestamp() AND key IS NOT NULL
)
SELECT count(*),
       extract(epoch FROM clock_timestamp() - min(
           {if has_created_at}coalesce({created_time}, parked_at){else}parked_at{end}) FILTER (WHERE NOT is_early)),
       -extract(epoch FROM clock_timestamp() - min(due)),
       count(*) FILTER (WHERE due IS NULL AND state IN ('behind', 'paused')),
       count(*) FILTER (WHERE is_early)
FROM (
    SELECT first.*,
           coalesce(CASE state WHEN 'scheduled' THEN due > clock_timestamp()
                               WHEN 'behind' THEN {key_text} IN (SELECT key_text FROM early) END, false) AS is_early
    FROM first
) judged
