-- use: figures parked_rows
-- section: the parked rows
-- without: {"parked": null, "parked_is_lower_bound": false, "parked_oldest_seconds": null, "next_try_seconds": null}
-- without: {"unsent": null, "scheduled": 0, "_held": 0, "_waiting": []}
-- Of the rows that will be tried again, in the order in which they are tried, so that rows that are held come last: how
-- many there are, up to a limit, the age of the oldest and the time until the next try, how many of them wait behind
-- another one of their key or for the end of a pause, and how many for their time or behind a row of their key that
-- does, which have no age; how many events are still to be sent, with those of the backlog; and what they wait for, the
-- most frequent first, at most five: the destination ('': an earlier row of the key that does not wait for its time),
-- the number of rows, and an error.
-- $1 jsonb the document, with _count_max: where counting stops.
WITH first AS MATERIALIZED (
    SELECT * FROM {parked} WHERE sent_at IS NULL AND state <> 'dead' ORDER BY due LIMIT {count_max}
), early AS MATERIALIZED (
    SELECT DISTINCT {key_text} AS key_text
    FROM first
    WHERE state = 'scheduled' AND due > clock_timestamp() AND key IS NOT NULL
), judged AS MATERIALIZED (
    SELECT due, state, waits_for, error, is_early, CASE WHEN NOT is_early THEN
               {if has_created_at}coalesce({created_time}, parked_at){else}parked_at{end} END AS since
    FROM first, LATERAL (
        SELECT coalesce(CASE state WHEN 'scheduled' THEN due > clock_timestamp()
                                   WHEN 'behind' THEN {key_text} IN (SELECT key_text FROM early) END,
                        false) AS is_early
    ) told
)
SELECT jsonb_build_object(
    'parked', parked, 'parked_is_lower_bound', parked = {count_max}, 'parked_oldest_seconds', age,
    'oldest_seconds', greatest(age, ($1::jsonb ->> 'backlog_oldest_seconds')::numeric),
    'unsent', coalesce(($1::jsonb ->> 'backlog_estimate')::int8, ($1::jsonb ->> 'backlog')::int8) + parked - scheduled,
    'next_try_seconds', round(extract(epoch FROM due - least(clock_timestamp(), due))::numeric, 6),
    'scheduled', scheduled, '_held', held, '_waiting', (
        SELECT jsonb_agg(to_jsonb(waiting) ORDER BY rows DESC, destination)
        FROM (
            SELECT coalesce(left(waits_for, 200), '') AS destination, count(*) AS rows,
                   coalesce(left(min(split_part(split_part(error, '{words_of_database}', 1), ': database: ', 1)), 300),
                            '') AS why
            FROM judged
            WHERE state = 'waiting' OR (state = 'behind' AND NOT is_early)
            GROUP BY 1
            ORDER BY 2 DESC, 1 LIMIT 5
        ) waiting))
FROM (
    SELECT count(*) AS parked, min(due) AS due, count(*) FILTER (WHERE is_early) AS scheduled,
           round(extract(epoch FROM greatest(clock_timestamp(), min(since)) - min(since))::numeric, 6) AS age,
           count(*) FILTER (WHERE due IS NULL AND state IN ('behind', 'paused')) AS held
    FROM judged
) counted
