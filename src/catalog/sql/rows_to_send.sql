-- use: desk rows_to_send
-- Counts the rows that would be sent, up to a limit.
-- $1 int8 the limit.
SELECT count(*) FROM (SELECT FROM {if position}{position_rows}{else}{outbox} WHERE {unsent}{end} LIMIT $1::int8) counted
