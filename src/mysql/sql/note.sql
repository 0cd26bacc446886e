-- Writes notes of rows of the outbox that the server refuses to settle or to park: a note keeps the row out of claims,
-- and the later rows of its key wait behind it. The parameter is that of park.sql, with the topic, which the server may
-- not be able to convert.
INSERT INTO {parked} (id, event_id, topic, `key`, state, attempts, error, due)
SELECT {id}, {event_id_text}, j.relay_topic, {key_bytes}, j.relay_state, j.relay_attempts, j.relay_error,
       UTC_TIMESTAMP(6) + INTERVAL j.relay_wait_ms * 1000 MICROSECOND
FROM {given} j
STRAIGHT_JOIN {outbox} o FORCE INDEX (PRIMARY) ON {id} = j.relay_id{if unsent} WHERE {unsent}{end}
