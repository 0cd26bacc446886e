-- use: lane topics if !by_slice !integer_ids
-- The same as topics_window for ids that are no integers, and so have no bounds.
-- $1 int8 a bit for each sink that is away.
SELECT 0 AS slice, {outbox_name}.ctid AS relay_row, relay_judged.relay_ours
FROM {outbox}, LATERAL (SELECT NULL::bool AS relay_ours UNION ALL SELECT ($1::int8 = 0
    OR coalesce($1::int8 >> ({sink}), 0) & 1 = 0)) relay_judged
WHERE {unsent} AND {is_not_noted}
