-- use: desk audit_parked_known if keeps_sent has_sent_at
-- The event ids of the next {known_rows} parked rows, whatever their state, for `audit`. Returns seq, the event id, and
-- when the row was sent in ms since 1970 (NULL: it was not).
-- $1 text the last seq of the page before; NULL: none.
SELECT seq, event_id::text, (extract(epoch FROM sent_at) * 1000)::int8
FROM {parked}
WHERE $1::text IS NULL OR seq > $1::text::int8
ORDER BY seq LIMIT {known_rows}
