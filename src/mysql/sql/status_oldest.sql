-- The age of the oldest of the first unsent rows. A zero date is no time.
SELECT GREATEST(0, UNIX_TIMESTAMP(CURRENT_TIMESTAMP(6)) - MIN(NULLIF(UNIX_TIMESTAMP(created), 0)))
           AS backlog_oldest_seconds
FROM (SELECT {created_time} AS created FROM {outbox} o{if unsent} WHERE {unsent}{end} ORDER BY {id} LIMIT 100) firsts
