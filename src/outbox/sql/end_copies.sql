-- After rows of the outbox were settled: deletes their copies, which those rows have that their owner has brought back
-- within `where`, and makes the next rows of their keys due.
-- $1 text[] the ids.
WITH touched AS (
    DELETE FROM {parked}
    WHERE in_outbox IS TRUE AND id = ANY ($1::text[]::{id_type}[])
    RETURNING seq, {left_key} AS left_key
), freed AS (
    {free_next}
)
SELECT count(*) FROM touched
