-- Deletes sent rows of the outbox that are old enough, a batch of them, and returns their number. Ids are
-- sequential, so the rows with the lowest ids are the oldest: only these are read, and no index on sent_at is needed.
-- $1 int8 the age in ms.
WITH purged AS (
    DELETE FROM {outbox}
    WHERE ctid = ANY (ARRAY(
        SELECT ctid
        FROM (
            SELECT ctid, {sent_at} AS relay_sent_at FROM {outbox} WHERE {where_of_sent} ORDER BY {id} LIMIT {purge_rows}
        ) oldest
        WHERE relay_sent_at < {cutoff}))
      AND {sent_at} < {cutoff} AND {where_of_sent}
    RETURNING 1
)
SELECT count(*) FROM purged
