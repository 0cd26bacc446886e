-- Part: when a parked row has left, the next row of its key becomes due, also one that waits for a destination or a
-- pause and was passed over when that ended. The statement's snapshot still shows the rows that it has touched as
-- unsent, so they are left out.
UPDATE {parked} SET state = CASE state WHEN 'behind' THEN 'retry' ELSE state END, due = clock_timestamp()
WHERE state IN ('behind', 'waiting', 'paused') AND due IS NULL AND seq = ANY (ARRAY(
    SELECT next
    FROM (SELECT DISTINCT left_key FROM touched WHERE left_key IS NOT NULL) gone,
         LATERAL (
             SELECT seq AS next
             FROM {parked} behind
             WHERE behind.key IS NOT NULL
               AND hashtextextended({key_text}, 0)
                   = hashtextextended(gone.left_key, 0)
               AND {key_text} = gone.left_key
               AND sent_at IS NULL AND seq NOT IN (SELECT seq FROM touched)
             ORDER BY id, seq LIMIT 1
         ) nexts))
