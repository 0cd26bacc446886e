-- Copies rows of the outbox to the parked table: ? is a JSON array of what is known of each. Of the rows that wait for
-- one destination, or for the end of one pause, the first is the probe and becomes due ("p"), unless there is one.
INSERT INTO {parked} (id, event_id, topic, `key`, type, payload, headers, created_at, not_before,
                      state, attempts, error, waits_for, due)
SELECT {id}, {event_id}, {topic}, {key_bytes}, {type}, {payload_bytes}, {headers},
       '1970-01-01' + INTERVAL j.relay_created_us MICROSECOND, {not_before},
       IF(j.relay_state = 'retry' AND {not_before} > UTC_TIMESTAMP(6), 'scheduled', j.relay_state),
       j.relay_attempts, j.relay_error, j.relay_waits_for,
       IF(j.relay_wait_ms IS NULL OR (j.relay_waits_for IS NOT NULL AND EXISTS (
              SELECT 1 FROM {parked} probe FORCE INDEX (waits_for)
              WHERE probe.waits_for = j.relay_waits_for AND probe.due IS NOT NULL AND probe.sent_at IS NULL)),
          NULL, UTC_TIMESTAMP(6) + INTERVAL j.relay_wait_ms * 1000 MICROSECOND)
FROM {given} j
STRAIGHT_JOIN {outbox} o FORCE INDEX (PRIMARY) ON {id} = j.relay_id{if unsent} WHERE {unsent}{end}
ORDER BY {id}
