-- Changes notes; the parameter is that of park.sql, with the seq of the notes as "i".
UPDATE {given} j STRAIGHT_JOIN {parked} p FORCE INDEX (PRIMARY) ON p.seq = j.relay_id
SET p.state = j.relay_state, p.attempts = j.relay_attempts, p.error = j.relay_error,
    p.due = UTC_TIMESTAMP(6) + INTERVAL j.relay_wait_ms * 1000 MICROSECOND
