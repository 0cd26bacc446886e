-- use: figures dead_rows
-- section: the dead rows
-- without: {"dead": null, "dead_is_lower_bound": false, "dead_oldest_seconds": null, "dead_first": []}
-- How many rows are dead, up to a limit, the age of the oldest, and of the three that have been dead for longest the
-- id, the topic and the reason, which are cut.
-- $1 jsonb the document, with _count_max: where counting stops.
SELECT jsonb_build_object(
    'dead', count(*), 'dead_is_lower_bound', count(*) = {count_max},
    'dead_oldest_seconds', round(extract(epoch FROM greatest(clock_timestamp(), min(since)) - min(since))::numeric, 6),
    'dead_first', coalesce(jsonb_agg(jsonb_build_object('id', id, 'topic', topic, 'reason', reason) ORDER BY seq)
                           FILTER (WHERE place <= 3), '[]'))
FROM (
    SELECT seq, row_number() OVER (ORDER BY seq) AS place,
           left({if numbered}coalesce(event_id::text, id::text){else}id::text{end}, 64) AS id,
           left(topic::text, 200) AS topic,
           left(split_part(split_part(error, '{words_of_database}', 1), ': database: ', 1), 300) AS reason,
           {if has_created_at}coalesce({created_time}, parked_at){else}parked_at{end} AS since
    FROM {parked}
    WHERE state = 'dead'
    ORDER BY seq LIMIT {count_max}
) first
