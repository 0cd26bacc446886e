-- use: figures dead_rows
-- section: the dead rows
-- without: {"dead": null, "dead_is_lower_bound": false, "dead_oldest_seconds": null}
-- How many rows are dead, up to a limit, and the age of the oldest.
-- $1 jsonb the document, with _count_max: where counting stops.
SELECT jsonb_build_object(
    'dead', count(*), 'dead_is_lower_bound', count(*) = {count_max},
    'dead_oldest_seconds', round(extract(epoch FROM greatest(clock_timestamp(), min(since)) - min(since))::numeric, 6))
FROM (
    SELECT {if has_created_at}coalesce({created_time}, parked_at){else}parked_at{end} AS since
    FROM {parked}
    WHERE state = 'dead'
    ORDER BY seq LIMIT {count_max}
) first
