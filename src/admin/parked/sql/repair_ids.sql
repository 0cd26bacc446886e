-- The rows that `audit --repair` sends again: of those that the ids name, the ones that are still there and have no
-- copy that waits to be sent. Returns NULL, because ids that name no row are no error here, and the ids as an array.
-- $1 text[] the ids.
WITH hits AS MATERIALIZED (
    SELECT {id} AS id FROM {outbox}
    WHERE {id} = ANY ($1::text[]::{id_type}[]) AND {sent_at} IS NOT NULL AND {where_of_sent}
    UNION
    SELECT id FROM {parked} WHERE id = ANY ($1::text[]::{id_type}[]) AND {is_parked_sent}
)
SELECT NULL::text, coalesce(array_agg(id), '{}')::text
FROM hits
WHERE NOT EXISTS (SELECT FROM {parked} copy WHERE copy.id = hits.id AND replayed_at IS NOT NULL AND sent_at IS NULL)
