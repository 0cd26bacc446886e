-- use: lane sent if !marking
-- Settles rows of the outbox by deleting them; like mark.sql.
-- $1 tid[] rows; $2 int4 their number.
WITH touched AS (
    DELETE FROM {outbox}
    WHERE ctid = ANY ($1::tid[])
    RETURNING 1
)
{count_settled}
