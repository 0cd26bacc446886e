-- The same as purge.sql for ids that do not grow: it may read every row.
-- $1 int8 the age in ms.
WITH purged AS (
    DELETE FROM {outbox}
    WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM {outbox} WHERE {sent_at} < {cutoff} AND {where} LIMIT {purge_rows}))
      AND {sent_at} < {cutoff} AND {where}
    RETURNING 1
)
SELECT count(*) FROM purged
