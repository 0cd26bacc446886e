-- use: figures backlog
-- use: desk backlog_from if integer_ids with unsent_from
-- section: the backlog
-- without: {"backlog": null, "backlog_is_lower_bound": false}
-- Counts the unsent rows, up to a limit: count(*) over ten million rows takes more than a second.
-- $1 jsonb the document, with _count_max: where counting stops.
SELECT jsonb_build_object('backlog', count(*), 'backlog_is_lower_bound', count(*) = {count_max})
FROM (
    SELECT
    FROM {unsent_rows}
    LIMIT {count_max}
) counted
