-- use: desk audit_page if keeps_sent has_sent_at
-- A page of the outbox for `audit`: the sent rows among the next {audit_rows}, in the order of their ids, and on each
-- line the last id that was looked at (NULL: there are no more). Returns that id, where the row lies (as text), its
-- id, and when it was sent in ms since 1970. A page without a sent row is one line of NULLs.
-- NULL for any: $1 text the last id of the page before; $2 and $3 text the first and the last id; $4 timestamptz the
-- earliest sent_at.
WITH looked AS MATERIALIZED (
    SELECT ctid AS place, {id} AS id, {sent_time}::timestamptz AS sent_at
    FROM {outbox}
    WHERE ($1::text IS NULL OR {id} > $1::text::{id_type})
      AND ($2::text IS NULL OR {id} >= $2::text::{id_type})
      AND ($3::text IS NULL OR {id} <= $3::text::{id_type})
      AND {was_sent} AND {id} IS NOT NULL
    ORDER BY 2 LIMIT {audit_rows}
), page AS (
    SELECT * FROM looked WHERE isfinite(sent_at) AND ($4::timestamptz IS NULL OR sent_at >= $4::timestamptz)
)
SELECT (SELECT id::text FROM looked ORDER BY looked.id OFFSET {audit_rows} - 1 LIMIT 1), place::text, page.id::text,
       (extract(epoch FROM sent_at) * 1000)::int8
FROM (SELECT) one LEFT JOIN page ON true ORDER BY page.id
