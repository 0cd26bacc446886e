-- Judges what the brokers hold against what PostgreSQL committed. Run by tests/demo/audit, with the
-- reader's output on stdin and the permitted number of duplicates in :bound.
--
-- It leaves its findings in audit.finding, one row a check; a check fails where found > allowed. It
-- trusts neither the relay's counters nor its logs, and it changes nothing outside its schema.
-- The bank draws the ids of a key under the lock of its branch, so that they are its order.

\set ON_ERROR_STOP on
\set QUIET on
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS audit CASCADE;
CREATE SCHEMA audit;

CREATE TABLE audit.delivered (
    arrival bigint, destination text, partition int, position bigint, key text, id text, type text,
    created_at text, message_id text, others text, payload text,
    stored_ms bigint
);
\copy audit.delivered FROM pstdin

-- ---- what was committed: the outbox, and what the relay has parked beside it --------------------

CREATE TABLE audit.committed AS
    SELECT id AS place, event_id, topic, key, type, payload, headers, created_at FROM outbox;
SELECT to_regclass('outbox_parked') IS NOT NULL AS has_parked \gset
\if :has_parked
INSERT INTO audit.committed
    SELECT id, event_id, topic, key, type, payload, headers, created_at FROM outbox_parked;
\endif

-- The messages as they ought to be: the relay's promise, written a second time.
CREATE TABLE audit.expected AS
    SELECT event_id::text AS id, topic, key, type, payload::text AS payload, created_at, place,
           (SELECT coalesce(string_agg(h.key || '=' || h.value, '&' ORDER BY h.key), '')
            FROM jsonb_each_text(headers) h) AS others,
           CASE topic WHEN 'bank.right' THEN event_id::text ELSE '' END AS message_id
    FROM audit.committed;
CREATE UNIQUE INDEX ON audit.expected (id);

-- ---- what a consumer makes of it: the first of each id, applied to accounts that began at zero --

-- The patterns take any bytes: a payload that is no JSON must be a finding, not an error.
CREATE TABLE audit.event AS
    SELECT DISTINCT ON (id) id, destination, partition, position,
           substring(payload FROM '"tid": *(\d{1,9})')::int AS tid,
           substring(payload FROM '"bid": *(\d{1,9})')::int AS bid,
           substring(payload FROM '"aid": *(\d{1,9})')::int AS aid,
           substring(payload FROM '"delta": *(-?\d{1,9})')::int AS delta
    FROM audit.delivered
    ORDER BY id, destination, position;

CREATE FUNCTION audit.instant(text) RETURNS timestamptz LANGUAGE sql AS $$
    SELECT CASE WHEN $1 ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$'
                THEN $1::timestamptz END
$$;

-- ---- the checks ---------------------------------------------------------------------------------

CREATE TABLE audit.finding (
    number int GENERATED ALWAYS AS IDENTITY, name text, found bigint, allowed bigint, meaning text
);

INSERT INTO audit.finding (name, found, allowed, meaning)
SELECT 'unsent', count(*), 0, 'rows not marked sent'
FROM outbox WHERE sent_at IS NULL;

INSERT INTO audit.finding (name, found, allowed, meaning)
SELECT 'lost', count(*), 0, 'committed, never delivered'
FROM audit.expected e WHERE NOT EXISTS (SELECT FROM audit.delivered d WHERE d.id = e.id);

INSERT INTO audit.finding (name, found, allowed, meaning)
SELECT 'phantom', count(*), 0, 'delivered, never committed'
FROM audit.event d WHERE NOT EXISTS (SELECT FROM audit.expected e WHERE e.id = d.id);

INSERT INTO audit.finding (name, found, allowed, meaning)
SELECT 'duplicates', count(*) - count(DISTINCT id), :bound, 'delivered again'
FROM audit.delivered;

INSERT INTO audit.finding (name, found, allowed, meaning)
SELECT 'altered', count(*), 0, 'messages unlike their row'
FROM audit.delivered d JOIN audit.expected e USING (id)
-- JetStream keeps the header by which the relay names the stream it expects.
WHERE (d.key, d.type, d.payload, trim('&' FROM regexp_replace(d.others,
          '(^|&)Nats-Expected-Stream=[^&]*', '')), d.message_id, audit.instant(d.created_at))
      IS DISTINCT FROM (e.key, e.type, e.payload, e.others, e.message_id, e.created_at);

INSERT INTO audit.finding (name, found, allowed, meaning)
SELECT 'misrouted', count(*), 0, 'on another topic or subject'
FROM audit.delivered d JOIN audit.expected e USING (id)
WHERE d.destination IS DISTINCT FROM e.topic;

INSERT INTO audit.finding (name, found, allowed, meaning)
SELECT 'split keys', count(*), 0, 'keys on several partitions'
FROM (SELECT FROM audit.delivered GROUP BY destination, key
      HAVING count(DISTINCT partition) > 1) split;

INSERT INTO audit.finding (name, found, allowed, meaning)
SELECT 'out of order', count(*), 0, 'events behind a later one of their key'
FROM (SELECT place, max(place) OVER (PARTITION BY d.destination, d.partition, e.key
                                     ORDER BY d.position
                                     ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
      FROM audit.event d JOIN audit.expected e USING (id)) placed
WHERE place < before;

-- Every transfer in the bank's own book, and every event, must have its counterpart.
CREATE VIEW audit.unmatched AS
    (SELECT tid, bid, aid, delta FROM audit.event
     EXCEPT ALL SELECT tid, bid, aid, delta FROM pgbench_history)
    UNION ALL
    (SELECT tid, bid, aid, delta FROM pgbench_history
     EXCEPT ALL SELECT tid, bid, aid, delta FROM audit.event);

INSERT INTO audit.finding (name, found, allowed, meaning)
SELECT 'history', count(*), 0, 'transfers and events unmatched' FROM audit.unmatched;

INSERT INTO audit.finding (name, found, allowed, meaning)
SELECT 'branches', count(*), 0, 'balances unlike the events'
FROM pgbench_branches b
FULL JOIN (SELECT bid, sum(delta) AS total FROM audit.event GROUP BY bid) e USING (bid)
WHERE b.bbalance IS DISTINCT FROM coalesce(e.total, 0);

INSERT INTO audit.finding (name, found, allowed, meaning)
SELECT 'tellers', count(*), 0, 'balances unlike the events'
FROM pgbench_tellers t
FULL JOIN (SELECT tid, sum(delta) AS total FROM audit.event GROUP BY tid) e USING (tid)
WHERE t.tbalance IS DISTINCT FROM coalesce(e.total, 0);

INSERT INTO audit.finding (name, found, allowed, meaning)
SELECT 'accounts', count(*), 0, 'balances unlike the events'
FROM pgbench_accounts a
FULL JOIN (SELECT aid, sum(delta) AS total FROM audit.event GROUP BY aid) e USING (aid)
WHERE a.abalance IS DISTINCT FROM coalesce(e.total, 0);

-- ---- the table ----------------------------------------------------------------------------------

SELECT last_value AS drawn FROM :"sequence" \gset

\pset footer off
\pset pager off
SELECT count(*) AS "committed",
       :drawn - count(*) AS "rolled back",
       (SELECT count(DISTINCT id) FROM audit.delivered) AS "delivered",
       (SELECT count(*) FROM audit.delivered WHERE destination = 'bank.left') AS "in Kafka",
       (SELECT count(*) FROM audit.delivered WHERE destination = 'bank.right') AS "in NATS"
FROM audit.committed;

SELECT name AS "check", found, allowed,
       CASE WHEN found > allowed THEN 'FAILED' ELSE 'ok' END AS verdict, meaning
FROM audit.finding ORDER BY number;
