-- What relays have said of themselves within the last seconds.
SELECT SUBSTR(CONVERT(c.name USING utf8mb4), 7) AS name, c.value AS answer
FROM {control} c
WHERE c.kind = 'setting' AND c.name LIKE 'relay %' AND c.set_at > UTC_TIMESTAMP(6) - INTERVAL {silent_s} SECOND
ORDER BY 1 LIMIT 64
