-- use: desk backlog_topics
-- use: desk backlog_topics_from if integer_ids with unsent_from
-- section: the rows of each sink
-- The most frequent topics of unsent rows, cut, and the number of rows of each.
-- $1 jsonb the document, with _count_max: how many rows are looked at.
SELECT topic, count(*)
FROM (
    SELECT left({topic}::text, 256) AS topic
    FROM {unsent_rows}
    LIMIT {count_max}
) counted
WHERE topic IS NOT NULL
GROUP BY topic
ORDER BY 2 DESC LIMIT 1000
