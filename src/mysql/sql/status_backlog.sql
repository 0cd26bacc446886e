-- The unsent rows, counted up to a limit.
SELECT COUNT(*) AS backlog FROM (SELECT 1 FROM {outbox} o{if unsent} WHERE {unsent}{end} LIMIT {count_max}) counted
