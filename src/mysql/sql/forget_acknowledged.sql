-- Forgets what a sink has acknowledged: ? is its name, ? a destination (twice), or '' for all.
DELETE FROM {control}
WHERE kind = 'setting' AND name LIKE 'acknowledged %' AND JSON_UNQUOTE(JSON_EXTRACT(value, '$.sink')) = ?
  AND (? = '' OR JSON_UNQUOTE(JSON_EXTRACT(value, '$.destination')) = ?)
