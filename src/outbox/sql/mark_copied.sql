-- Before parked rows are settled: marks the rows of the outbox of which they are copies.
-- $1 tid[] the copies.
WITH touched AS (
    UPDATE {outbox} SET {mark}
    WHERE ctid = ANY (ARRAY({copied_rows}))
    RETURNING 1
)
SELECT count(*) FROM touched
