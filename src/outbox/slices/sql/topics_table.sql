-- The same as topics_window for ids that are no integers, and so have no bounds.
-- $1 int8 a bit for each sink that is away.
SELECT 0, {outbox_name}.ctid, judged.ours
FROM {outbox}, LATERAL (SELECT NULL::bool AS ours UNION ALL SELECT {sink_is_here:$1}) judged
WHERE {claimable}
