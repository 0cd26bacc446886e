-- The event ids of the next {known_rows} rows of the outbox, sent or not, for `audit`, in the order of the ids. Returns
-- the id, the event id, and when the row was sent in ms since 1970 (NULL: it was not).
-- $1 text the last id of the page before; NULL: none.
SELECT {id}::text, {event_id}::text,
       CASE WHEN isfinite({sent_at}::timestamptz) THEN (extract(epoch FROM {sent_at}::timestamptz) * 1000)::int8 END
FROM {outbox}
WHERE $1::text IS NULL OR {id} > $1::text::{id_type}
ORDER BY {id} LIMIT {known_rows}
