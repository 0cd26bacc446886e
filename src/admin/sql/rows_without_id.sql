-- use: desk rows_without_id
-- Counts the unsent rows that have no id, up to a limit.
SELECT count(*) FROM (SELECT FROM {outbox} WHERE {id} IS NULL AND {unsent} LIMIT {without_id_max}) rows
