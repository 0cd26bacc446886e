-- Parked rows that were sent so many seconds ago.
SELECT p.seq FROM {parked} p FORCE INDEX (state)
WHERE p.state = 'sent' AND p.sent_at < UTC_TIMESTAMP(6) - INTERVAL {age_s} SECOND
LIMIT {limit}{if locks} FOR UPDATE SKIP LOCKED{end}
