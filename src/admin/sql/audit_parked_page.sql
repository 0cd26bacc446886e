-- use: desk audit_parked_page if keeps_sent has_sent_at
-- A page of the parked table for `audit`: the next {audit_rows} rows that were sent and are no copies by `replay`.
-- Returns seq, where the row lies (as text), its id, and when it was sent in ms since 1970.
-- NULL for any: $1 text the last seq of the page before; $2 and $3 text the first and the last id; $4 timestamptz the
-- earliest sent_at.
SELECT seq, ctid::text, id::text, (extract(epoch FROM sent_at) * 1000)::int8
FROM {parked}
WHERE ($1::text IS NULL OR seq > $1::text::int8)
  AND ($2::text IS NULL OR id >= $2::text::{id_type})
  AND ($3::text IS NULL OR id <= $3::text::{id_type})
  AND ($4::timestamptz IS NULL OR sent_at >= $4::timestamptz)
  AND isfinite(sent_at) AND replayed_at IS NULL
ORDER BY seq LIMIT {audit_rows}
