-- use: desk count_purgeable if has_sent_at
-- Counts all sent rows of the outbox that are old enough.
-- $1 int8 the age in ms.
SELECT count(*)
FROM {purged_table} {outbox_name}
WHERE {sent_time} < clock_timestamp() - $1::int8 * interval '1 millisecond' AND {was_sent}
