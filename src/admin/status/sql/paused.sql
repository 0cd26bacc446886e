-- use: figures paused
-- section: what is paused
-- without: {"pauses": []}
-- What is paused now, the oldest first.
SELECT jsonb_build_object('pauses', coalesce(jsonb_agg(jsonb_build_object(
    'what', split_part(kind, ' ', 2), 'name', name, 'by', set_by, 'reason', nullif(reason, ''),
    'since', to_char(set_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) ORDER BY set_at, kind, name), '[]'))
FROM (SELECT * FROM {control} WHERE {is_pause} ORDER BY set_at, kind, name LIMIT 64) first
