-- Before parked rows are settled: deletes the rows of the outbox of which they are copies.
-- $1 tid[] the copies.
WITH touched AS (
    DELETE FROM {outbox}
    WHERE ctid = ANY (ARRAY({copied_rows}))
    RETURNING 1
)
SELECT count(*) FROM touched
