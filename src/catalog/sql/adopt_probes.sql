-- use: lane adopt_probes
-- use: desk adopt_probes
-- Makes one row due for each destination that rows wait for but whose probe was dropped.
UPDATE {parked} SET due = clock_timestamp()
WHERE due IS NULL AND sent_at IS NULL AND seq = ANY (ARRAY(
    SELECT next
    FROM (
             SELECT DISTINCT waits_for FROM {parked} WHERE waits_for IS NOT NULL AND sent_at IS NULL AND due IS NULL
         ) missed,
         LATERAL (
             SELECT seq AS next
             FROM {parked} head
             WHERE head.waits_for = missed.waits_for AND due IS NULL AND sent_at IS NULL
                 AND {is_head}
             ORDER BY due, seq LIMIT 1
         ) nexts
    WHERE NOT EXISTS (
        SELECT FROM {parked} head
        WHERE head.waits_for = missed.waits_for AND head.due IS NOT NULL AND head.sent_at IS NULL
            AND {is_head})))
