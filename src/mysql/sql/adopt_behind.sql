-- The first parked rows of keys of which none is due, because the one that they waited for is gone; and a probe for
-- each destination that rows wait for and that has none.
SELECT p.seq FROM {parked} p FORCE INDEX (state)
WHERE p.state IN ('behind', 'waiting', 'paused') AND p.due IS NULL
{if keyed}
  AND {first_of_key}
{end}
  AND (p.waits_for IS NULL OR NOT EXISTS (
      SELECT 1 FROM {parked} h FORCE INDEX (waits_for)
      WHERE h.waits_for = p.waits_for AND h.sent_at IS NULL AND (h.due IS NOT NULL OR h.seq < p.seq)))
LIMIT 1000
