-- What is paused, the oldest first.
SELECT SUBSTR(c.kind, 8) AS what, CONVERT(c.name USING utf8mb4) AS name,
       DATE_FORMAT(c.set_at, '%Y-%m-%dT%H:%i:%sZ') AS since, c.set_by AS `by`, COALESCE(c.reason, '') AS reason
FROM {control} c WHERE c.kind IN ('paused sink', 'paused topic', 'paused key')
ORDER BY c.set_at, c.kind, c.name LIMIT 10000
