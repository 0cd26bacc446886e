-- What the broker of each sink may have lost of what it had acknowledged.
SELECT JSON_UNQUOTE(JSON_EXTRACT(c.value, '$.sink')) AS sink, COUNT(*) AS `rows`,
       MIN(LEFT(JSON_UNQUOTE(JSON_EXTRACT(c.value, '$.text')), 500)) AS text,
       DATE_FORMAT(MIN(c.set_at), '%Y-%m-%dT%H:%i:%sZ') AS noticed
FROM {control} c WHERE c.kind = 'setting' AND c.name LIKE 'lost %' GROUP BY 1 ORDER BY MIN(c.set_at) LIMIT 16
