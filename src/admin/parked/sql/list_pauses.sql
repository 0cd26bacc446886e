-- use: desk list_pauses
-- The pauses: what is paused, its name, the time and the age in seconds, the role that paused, and the reason.
SELECT split_part(kind, ' ', 2), name, to_char(set_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
       extract(epoch FROM clock_timestamp() - set_at), set_by, reason
FROM {control}
WHERE {is_pause}
ORDER BY set_at, kind, name
