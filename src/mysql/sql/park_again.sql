-- Parks parked rows again; the parameter is that of park.sql, with their seq as "i".
UPDATE {given} j STRAIGHT_JOIN {parked} p FORCE INDEX (PRIMARY) ON p.seq = j.relay_id
SET p.state = IF(j.relay_state = 'retry' AND p.not_before > UTC_TIMESTAMP(6), 'scheduled', j.relay_state),
    p.attempts = j.relay_attempts,
    p.error = j.relay_error, p.waits_for = j.relay_waits_for,
    p.due = IF(j.relay_wait_ms IS NULL, NULL, UTC_TIMESTAMP(6) + INTERVAL j.relay_wait_ms * 1000 MICROSECOND)
