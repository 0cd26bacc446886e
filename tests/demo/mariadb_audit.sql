-- Compares what arrived with what was committed: a line for each finding, with the most that is allowed and its
-- meaning. @repeats: how many messages may have come again.

SET time_zone = '+00:00';
CREATE TABLE arrived AS
    SELECT d.*, l.id AS place, ROW_NUMBER() OVER (PARTITION BY d.id ORDER BY stored_ms, position) AS occurrence
    FROM delivered d LEFT JOIN ledger l ON l.event_id = d.id;
SET @again = (SELECT COUNT(*) FROM arrived WHERE occurrence > 1);
DELETE FROM arrived WHERE occurrence > 1;
ALTER TABLE arrived ADD KEY (id);

SELECT 'events committed', COUNT(*), COUNT(*), '' FROM ledger
UNION ALL SELECT 'sent to Kafka', SUM(topic LIKE 'kafka.%'), COUNT(*), '' FROM ledger
UNION ALL SELECT 'sent to NATS JetStream', SUM(topic LIKE 'nats.%'), COUNT(*), '' FROM ledger
UNION ALL SELECT 'unsent', COUNT(*), 0, 'neither marked nor rolled back' FROM outbox WHERE sent_at IS NULL
UNION ALL SELECT 'parked', COUNT(*), 0, 'set aside' FROM outbox_parked
UNION ALL SELECT 'lost', COUNT(*), 0, 'committed and not delivered'
    FROM ledger l WHERE NOT EXISTS (SELECT 1 FROM arrived a WHERE a.id = l.event_id)
UNION ALL SELECT 'invented', COUNT(*), 0, 'delivered, but never committed' FROM arrived WHERE place IS NULL
UNION ALL SELECT 'altered', COUNT(*), 0, 'delivered, but not as committed'
    FROM delivered d JOIN ledger l ON l.event_id = d.id WHERE NOT (d.destination, d.`key`, d.type, d.payload, d.created_at) <=>
            (l.topic, l.`key`, l.type, l.payload, DATE_FORMAT(l.created_at, '%Y-%m-%dT%H:%i:%s.%fZ'))
        OR FIND_IN_SET(CONCAT('client=', JSON_VALUE(l.headers, '$.client')), REPLACE(d.others, '&', ',')) = 0
UNION ALL SELECT 'out of order', COUNT(*), 0, 'before an earlier event of its key' FROM (
    SELECT place, MAX(place) OVER (PARTITION BY `key` ORDER BY part, position
                                   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS later
    FROM arrived) a WHERE place < later
UNION ALL SELECT 'balances that differ', COUNT(*), 0, 'of what the events add up to' FROM branch
    WHERE balance <> (SELECT COALESCE(SUM(JSON_VALUE(payload, '$.delta')), 0) FROM arrived
                      WHERE JSON_VALUE(payload, '$.bid') = bid)
UNION ALL SELECT 'sent again', @again, @repeats,
    CONCAT('at most ', @repeats, ': what the killed relay had in hand (lanes × batch)');
