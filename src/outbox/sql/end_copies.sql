-- Before rows of the outbox are settled: deletes their copies, which those rows have that their owner has brought back
-- within `where`, and makes the next rows of their keys due.
-- $1 tid[] rows.
WITH settled AS MATERIALIZED (
    SELECT {id} AS id, {identity} AS identity FROM {outbox} WHERE ctid = ANY ($1::tid[])
), touched AS (
    DELETE FROM {parked} copy USING settled
    WHERE copy.in_outbox IS TRUE AND copy.id = settled.id
      AND coalesce(copy.identity, settled.identity) = settled.identity
    RETURNING seq, {left_key} AS left_key
), freed AS (
    {free_next}
)
SELECT count(*) FROM touched
