-- use: desk pause_list
-- What is paused, since when, by which role, and why.
{if $json}
SELECT row_to_json(r)
FROM (
    SELECT split_part(kind, ' ', 2) AS what, name,
           to_char(set_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS since, set_by AS by,
           coalesce(reason, '') AS reason
    FROM {control} WHERE {is_pause}
    ORDER BY set_at, kind, name LIMIT 10000
) r
{else}
SELECT coalesce(split_part(kind, ' ', 2) || ' "' || name || '" since '
                || to_char(set_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || ' by ' || set_by
                || coalesce(': ' || nullif(reason, ''), ''), 'nothing is paused')
FROM (SELECT) one LEFT JOIN (SELECT * FROM {control} WHERE {is_pause}) paused ON true
ORDER BY set_at, kind, name LIMIT 10000
{end}
