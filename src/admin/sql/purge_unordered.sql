-- Deletes sent rows of the outbox that are old enough, a batch of them, and returns their number. Ids do not grow, so
-- it may read every row.
-- $1 int8 the age in ms.
WITH purged AS (
    DELETE FROM {outbox}
    WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM {outbox} WHERE {sent_at} < {cutoff} AND {where_of_sent} LIMIT {purge_rows}))
      AND {sent_at} < {cutoff} AND {where_of_sent}
    RETURNING 1
)
SELECT count(*) FROM purged
