-- Rows that wait for what has accepted a row, the oldest first, each the first of its key.
SELECT p.seq FROM {parked} p FORCE INDEX (waits_for)
WHERE p.waits_for = {reached} AND p.due IS NULL AND p.sent_at IS NULL{if keyed} AND {first_of_key}{end}
ORDER BY p.seq LIMIT {release_max}
