-- Before parked rows are settled: marks the rows of the outbox of which they are copies. A row that its owner has
-- brought back within `where`, or deleted, is left alone.
-- $1 tid[] the copies.
WITH touched AS (
    UPDATE {outbox} SET {mark}
    WHERE {id} = ANY (ARRAY(SELECT copy.id FROM {parked} copy WHERE copy.ctid = ANY ($1::tid[]) AND copy.in_outbox))
      AND {is_out}
    RETURNING 1
)
SELECT count(*) FROM touched
