-- use: desk repair_ids if keeps_sent has_sent_at
-- The rows that `audit --repair` sends again: of those that the ids and event ids name, the ones that are still there
-- and have no copy that waits to be sent; ids that name no row are no error here. Returns the ids of
-- the rows and their keys (replay.sql) as arrays.
WITH hits AS MATERIALIZED (
    SELECT {id} AS id, {identity} AS identity, ({id}::text || ' ' || {identity}) AS row_key FROM {outbox}
    WHERE {id} = ANY ({$ids}::text[]::{id_type}[]) AND {sent_time} IS NOT NULL
      AND {was_sent}
      AND coalesce(CASE WHEN {id} IN (SELECT id FROM {parked} WHERE sent_at IS NOT NULL AND replayed_at IS NULL)
          THEN {event_id}::text END = ANY ({$event_ids}::text[]), true)
    UNION
    SELECT id, identity, (id::text || ' ' || coalesce(identity, '@' || seq)) FROM {parked} relay_sent
    WHERE id = ANY ({$ids}::text[]::{id_type}[]) AND sent_at IS NOT NULL AND replayed_at IS NULL
      AND (coalesce(event_id::text = ANY ({$event_ids}::text[]), true)
           OR NOT EXISTS (SELECT FROM {outbox} WHERE {id} = relay_sent.id))
), ready AS MATERIALIZED (
    SELECT * FROM hits
    WHERE NOT EXISTS (SELECT FROM {parked} copy
                      WHERE copy.id = hits.id AND copy.identity IS NOT DISTINCT FROM hits.identity
                        AND replayed_at IS NOT NULL AND sent_at IS NULL)
)
SELECT coalesce(array_agg(DISTINCT id), '{}')::text AS rows, coalesce(array_agg(DISTINCT row_key), '{}')::text AS keys
FROM ready
