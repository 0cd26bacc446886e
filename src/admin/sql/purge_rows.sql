-- use: desk purge_rows if has_sent_at
-- Deletes those of the given rows that are sent and old enough, and returns their number.
-- $1 int8 the age in ms; $2 tid[] the rows.
WITH purged AS (
    DELETE FROM {outbox}
    WHERE ctid = ANY ($2::tid[]) AND {sent_time} < clock_timestamp() - $1::int8 * interval '1 millisecond'
      AND {was_sent}
    RETURNING 1
)
SELECT count(*) FROM purged
