-- Before parked rows are settled: deletes the rows of the outbox of which they are copies; like mark_copied.sql.
-- $1 tid[] the copies.
WITH touched AS (
    DELETE FROM {outbox}
    WHERE {id} = ANY (ARRAY(SELECT copy.id FROM {parked} copy WHERE copy.ctid = ANY ($1::tid[]) AND copy.in_outbox))
      AND {is_out}
    RETURNING 1
)
SELECT count(*) FROM touched
