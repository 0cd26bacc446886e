-- use: desk backlog
-- use: desk backlog_from if integer_ids with unsent_from
-- Counts the unsent rows, up to a limit: count(*) over ten million rows takes more than a second.
-- $1 int8 the limit.
SELECT count(*)
FROM (
    SELECT
    FROM {unsent_rows}
    LIMIT $1::int8
) counted
