-- The same as topics_window for ids that are no integers, and so have no bounds.
-- $1 int8 a bit for each sink that is away.
SELECT 0, {outbox_name}.ctid, relay_judged.relay_ours
FROM {outbox}, LATERAL (SELECT NULL::bool AS relay_ours UNION ALL SELECT {sink_is_here:$1}) relay_judged
WHERE {claimable}
