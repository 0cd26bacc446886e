-- Part: a destination that has accepted a row exists again, so rows that wait for it become due, the oldest first. Each
-- sent batch releases several batches more. Their due is NULL: it stands in the order for the index.
UPDATE {parked} SET due = clock_timestamp()
WHERE ctid = ANY (ARRAY(
    SELECT released_row
    FROM (SELECT DISTINCT reached FROM touched WHERE reached IS NOT NULL) destinations,
         LATERAL (
             SELECT ctid AS released_row
             FROM {parked} head
             WHERE waits_for = reached AND due IS NULL AND sent_at IS NULL AND {is_head}
             ORDER BY due, seq LIMIT {release_max}
             FOR UPDATE SKIP LOCKED
         ) waiting))
