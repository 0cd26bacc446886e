-- Rows that wait for what has accepted a row, the oldest first, each the first of its key.
SELECT p.seq FROM {parked} p FORCE INDEX (waits_for)
WHERE p.waits_for = {reached} AND p.due IS NULL AND p.sent_at IS NULL{if keyed}
  AND (p.`key` IS NULL OR NOT EXISTS (
      SELECT 1 FROM {parked} e FORCE INDEX (key_order)
      WHERE e.key_hash = p.key_hash AND e.`key` = p.`key` AND e.sent_at IS NULL
        AND (e.id < p.id OR (e.id = p.id AND e.seq < p.seq)))){end}
ORDER BY p.seq LIMIT {release_max}
