-- use: parked repair_ids if marking has_sent_at
-- The rows that `audit --repair` sends again: of those that the ids and event ids name, the ones that are still there
-- and have no copy that waits to be sent. Returns NULL, because ids that name no row are no error here, and the ids of
-- the rows and their keys (replay.sql) as arrays.
-- $1 text[] the ids; $2 text[] their event ids.
WITH hits AS MATERIALIZED (
    SELECT {id} AS id, {identity} AS identity, ({id}::text || ' ' || {identity}) AS row_key FROM {outbox}
    WHERE {id} = ANY ($1::text[]::{id_type}[]) AND {sent_at} IS NOT NULL
      AND {was_sent}
      AND coalesce(CASE WHEN {id} IN (SELECT id FROM {parked} WHERE sent_at IS NOT NULL AND replayed_at IS NULL)
          THEN {event_id}::text END = ANY ($2::text[]), true)
    UNION
    SELECT id, identity, (id::text || ' ' || coalesce(identity, '@' || seq)) FROM {parked} relay_sent
    WHERE id = ANY ($1::text[]::{id_type}[]) AND sent_at IS NOT NULL AND replayed_at IS NULL
      AND (coalesce(event_id::text = ANY ($2::text[]), true)
           OR NOT EXISTS (SELECT FROM {outbox} WHERE {id} = relay_sent.id))
), ready AS MATERIALIZED (
    SELECT * FROM hits
    WHERE NOT EXISTS (SELECT FROM {parked} copy
                      WHERE copy.id = hits.id AND copy.identity IS NOT DISTINCT FROM hits.identity
                        AND replayed_at IS NOT NULL AND sent_at IS NULL)
)
SELECT NULL::text, coalesce(array_agg(DISTINCT id), '{}')::text, coalesce(array_agg(DISTINCT row_key), '{}')::text
FROM ready
