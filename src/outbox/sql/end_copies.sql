-- use: lane end_copies if in_place
-- Before rows of the outbox are settled: deletes their copies, and makes the next rows of their keys due.
-- $1 tid[] rows.
WITH taken AS MATERIALIZED (
    SELECT {id} AS id, {identity} AS identity FROM {outbox} WHERE ctid = ANY ($1::tid[])
), touched AS (
    {drop_copies}
), freed AS (
    {free_next}
)
SELECT count(*) FROM touched
