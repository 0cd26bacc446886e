-- use: desk status_limits
-- The limits that are exceeded, each as a line. An age or a number of rows that is unknown is above any limit.
-- $1 jsonb the document, with _limits: the greatest age in ms and numbers of rows that may be, or null.
SELECT CASE WHEN is_unknown THEN format('age is unknown, the limit is %s s', most)
            ELSE format('age is %s s, the limit is %s s', round(age, 1), most) END AS text
FROM (
    SELECT backlog IS DISTINCT FROM 0 AND backlog_oldest_seconds IS NULL AS is_unknown,
           greatest(backlog_oldest_seconds, parked_oldest_seconds) AS age,
           round(($1::jsonb #>> '{_limits, age}')::numeric / 1000, 1) AS most
    FROM jsonb_to_record($1::jsonb) d (backlog int8, backlog_oldest_seconds numeric, parked_oldest_seconds numeric)
) of_age
WHERE most IS NOT NULL AND (is_unknown OR age > most)
UNION ALL
SELECT CASE WHEN rows IS NULL THEN format('%s is unknown, the limit is %s', what, most)
            ELSE format('%s is %s%s, the limit is %s', what, rows, CASE WHEN more THEN ' or more' END, most) END
FROM jsonb_to_record($1::jsonb) d (
    backlog int8, backlog_is_lower_bound bool, parked int8, parked_is_lower_bound bool, scheduled int8, dead int8,
    dead_is_lower_bound bool),
LATERAL (VALUES ('backlog', backlog, backlog_is_lower_bound), ('dead', dead, dead_is_lower_bound),
                -- but those that are meant to wait
                ('parked', parked - scheduled, parked_is_lower_bound)) figures (what, rows, more),
LATERAL (SELECT ($1::jsonb #>> ARRAY['_limits', what])::int8 AS most) limits
WHERE most IS NOT NULL AND (rows > most) IS NOT FALSE
