-- The most frequent topics of unsent rows, and the number of rows of each.
SELECT topic, COUNT(*) AS `rows`
FROM (SELECT LEFT({topic}, 1024) AS topic FROM {outbox} o{if unsent} WHERE {unsent}{end} LIMIT {count_max}) counted
GROUP BY topic ORDER BY 2 DESC LIMIT 1000
