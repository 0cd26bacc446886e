-- use: desk rows_to_send
-- Counts the rows that would be sent, up to a limit.
-- $1 int8 the limit.
SELECT count(*) FROM (SELECT FROM {outbox} WHERE {unsent} LIMIT $1::int8) counted
