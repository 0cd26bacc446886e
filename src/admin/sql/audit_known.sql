-- use: desk audit_known if keeps_sent has_sent_at
-- The event ids of the next {known_rows} rows of the outbox, sent or not, for `audit`, in the order of the ids. Returns
-- the id, the event id, and when the row was sent in ms since 1970 (NULL: it was not).
-- $1 text the last id of the page before; NULL: none.
SELECT page.id::text, event_id, CASE WHEN isfinite(sent_at) THEN (extract(epoch FROM sent_at) * 1000)::int8 END
FROM (
    SELECT {id} AS id, {event_id}::text AS event_id, {sent_time}::timestamptz AS sent_at
    FROM {outbox}
    WHERE {id} IS NOT NULL AND ($1::text IS NULL OR {id} > $1::text::{id_type})
    ORDER BY 1 LIMIT {known_rows}
) page
ORDER BY page.id
