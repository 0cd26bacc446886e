-- After rows of the outbox were settled: deletes their copies, which those rows have that their owner has brought back
-- within `where`, and makes the next rows of their keys due.
-- $1 text[] the ids; $2 text[] the event ids.
WITH touched AS (
    DELETE FROM {parked} copy
    USING ROWS FROM (unnest($1::text[]), unnest($2::text[])) AS relay_settled (relay_id, relay_event)
    WHERE copy.in_outbox IS TRUE AND copy.id = relay_id::{id_type}
      AND (copy.event_id IS NULL OR relay_event IS NULL OR copy.event_id::text = relay_event)
    RETURNING seq, {left_key} AS left_key
), freed AS (
    {free_next}
)
SELECT count(*) FROM touched
