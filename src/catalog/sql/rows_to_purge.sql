-- Counts the rows that would be purged, up to a limit.
-- $1 int8 the limit; $2 int8 the retention in ms.
SELECT count(*)
FROM (
    SELECT FROM {outbox}
    WHERE {sent_at} < clock_timestamp() - $2::int8 * interval '1 millisecond' AND {where_of_sent}
    LIMIT $1::int8
) counted
