-- use: desk purge_parked
-- Deletes parked rows that were sent after all and are old enough, a batch of them, and returns their number.
-- $1 int8 the age in ms.
WITH purged AS (
    DELETE FROM {parked}
    WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM {parked}
            WHERE sent_at < clock_timestamp() - $1::int8 * interval '1 millisecond'
            ORDER BY sent_at LIMIT {purge_rows}))
      AND sent_at < clock_timestamp() - $1::int8 * interval '1 millisecond'
    RETURNING 1
)
SELECT count(*) FROM purged
