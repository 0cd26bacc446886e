-- Judges what the brokers hold against the ledger, after the relays were stopped. The reader's
-- output comes on stdin; :unsent is the condition of a row that should have been marked, or parked, and is not.
--
-- Leaves its findings in audit.finding, one row a check; a check fails where found > allowed, and
-- where allowed is NULL it is only shown. :dropped_ms is when the operator dropped the dead rows,
-- by the wall clock. It trusts neither the relays' counters nor their logs. Of a destination that was lost and made
-- anew (amnesia.py) the positions go on :epoch higher.
-- audit.repeat holds every message that came again, for those who know when what was broken, and
-- audit.late those that came behind a later one of their key.

\set ON_ERROR_STOP on
\set QUIET on
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS audit CASCADE;
CREATE SCHEMA audit;

CREATE TABLE audit.delivered (
    arrival bigint, destination text, partition int, position bigint, key text, id text, type text,
    created_at text, message_id text, others text, payload text, stored_ms bigint
);
\copy audit.delivered FROM pstdin

-- What was sent again because the operator asked for it is judged by itself.
CREATE TABLE audit.replayed AS
    SELECT *, row_number() OVER (PARTITION BY id, replayed_at ORDER BY stored_ms, position) AS occurrence
    FROM (SELECT *, substring(others FROM '(?:^|&)replayed_at=([^&]*)') AS replayed_at
          FROM audit.delivered) marked
    WHERE replayed_at IS NOT NULL;
DELETE FROM audit.delivered WHERE others ~ '(^|&)replayed_at=';

-- The headers of a message but for the relay's own: by name, because nats.c gives them in any order.
CREATE FUNCTION audit.headers(others text) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce(string_agg(header, '&' ORDER BY header COLLATE "C"), '')
    FROM unnest(string_to_array(others, '&')) header WHERE header !~ '^(Nats-Expected-Stream|Nats-Batch-[A-Za-z]+|replayed_at)='
$$;

-- The messages as they ought to be: the relay's promise, written a second time.
CREATE TABLE audit.expected AS
    SELECT event_id::text AS id, topic, key, type, payload::text AS payload, created_at, poison,
           (SELECT coalesce(string_agg(h.key || '=' || h.value, '&'
                                       ORDER BY (h.key || '=' || h.value) COLLATE "C"), '')
            FROM jsonb_each_text(CASE jsonb_typeof(headers) WHEN 'object' THEN headers END) h)
           AS others,
           CASE WHEN starts_with(topic, 'nats.') THEN event_id::text ELSE '' END AS message_id
    FROM ledger;
CREATE UNIQUE INDEX ON audit.expected (id);

-- Which losses relays named, and of which amnesia: the destination, or all of its sink, is said to have lost messages
-- after it was taken away. A relay that looks in vain says so within a minute, and one that was paused then, later;
-- a broker that starts on a busy machine may not be there for minutes.
CREATE TABLE audit.named AS
    SELECT n.*, number
    FROM named n LEFT JOIN amnesia a ON about->>'sink' = sink AND about->>'destination' IN ('', place)
        AND n.at BETWEEN a.at AND coalesce(a.over, a.at) + interval '100 s';

-- What a broker forgot that nobody had read, if that loss was named: it is taken to be the last that came before.
CREATE TABLE audit.forgotten AS
    SELECT DISTINCT ON (l.event_id) l.event_id::text AS id, number, greatest(a.at, available_at) AS at, place_of(l.id, l.payload) AS place
    FROM forgettable JOIN amnesia a USING (number) JOIN ledger l USING (event_id)
    WHERE NOT EXISTS (SELECT FROM audit.delivered d WHERE d.id = l.event_id::text)
        AND EXISTS (SELECT FROM audit.named n
                    WHERE n.number = a.number AND coalesce((about->>'since')::timestamptz <= l.created_at, true))
    ORDER BY l.event_id, number;
INSERT INTO audit.delivered
    SELECT 0, topic, coalesce(partition, 0), :epoch * (number - 0.5) + row_number() OVER (ORDER BY place), e.key, id, type,
           to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), message_id, others, payload,
           extract(epoch FROM at) * 1000
    FROM audit.forgotten JOIN audit.expected e USING (id)
    LEFT JOIN (SELECT destination, key, max(partition) AS partition FROM audit.delivered GROUP BY 1, 2) d
        ON d.destination = topic AND d.key = e.key;

CREATE TABLE audit.numbered AS
    SELECT *, row_number() OVER (PARTITION BY id ORDER BY stored_ms, position) AS occurrence
    FROM audit.delivered;
CREATE VIEW audit.repeat AS SELECT * FROM audit.numbered WHERE occurrence > 1;

-- What a consumer makes of it. The patterns take any bytes: a payload that is no JSON must be a
-- finding, not an error.
CREATE TABLE audit.event AS
    SELECT id, destination, partition, position, key,
           substring(payload FROM '"tid": *(\d{1,9})')::int AS tid,
           substring(payload FROM '"bid": *(\d{1,9})')::int AS bid,
           substring(payload FROM '"aid": *(\d{1,9})')::int AS aid,
           substring(payload FROM '"delta": *(-?\d{1,9})')::int AS delta
    FROM audit.numbered WHERE occurrence = 1;
CREATE UNIQUE INDEX ON audit.event (id);

CREATE FUNCTION audit.instant(text) RETURNS timestamptz LANGUAGE sql AS $$
    SELECT CASE WHEN $1 ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$'
                THEN $1::timestamptz END
$$;

CREATE VIEW audit.dead AS
    SELECT event_id::text AS id, error, raw FROM (SELECT * FROM dead_rows() UNION ALL SELECT * FROM dropped) dead;

-- The place of each event among those of its key that are to arrive. Without a key there is none.
CREATE TABLE audit.place AS
    SELECT event_id::text AS id, key,
           row_number() OVER (PARTITION BY topic, key ORDER BY place_of(l.id, payload)) AS place
    FROM ledger l WHERE NOT poison AND key IS NOT NULL
        AND NOT EXISTS (SELECT FROM audit.dead d WHERE d.id = l.event_id::text);
CREATE UNIQUE INDEX ON audit.place (id);

-- ---- the checks ---------------------------------------------------------------------------------

CREATE TABLE audit.finding (
    number int GENERATED ALWAYS AS IDENTITY, name text, found bigint, allowed bigint, meaning text
);
CREATE PROCEDURE audit.find(name text, allowed bigint, meaning text, query text)
LANGUAGE plpgsql AS $$
DECLARE found bigint;
BEGIN
    EXECUTE query INTO found;
    INSERT INTO audit.finding (name, found, allowed, meaning)
    VALUES (name, found, allowed, meaning);
END $$;

SELECT count(*) AS unsent_rows FROM outbox WHERE :unsent AND id NOT IN (SELECT id FROM told) \gset
CALL audit.find('unsent', 0, 'rows neither sent nor parked', 'SELECT ' || :unsent_rows);
CALL audit.find('waiting', 0, 'parked rows that wait for another try',
    'SELECT count(*) FROM outbox_parked WHERE sent_at IS NULL AND state <> ''dead''');
CALL audit.find('lost', 0, 'committed, neither delivered nor dead',
    'SELECT count(*) FROM audit.expected e WHERE NOT poison
     AND NOT EXISTS (SELECT FROM audit.event d WHERE d.id = e.id)
     AND NOT EXISTS (SELECT FROM audit.dead d WHERE d.id = e.id)');
CALL audit.find('forgotten', NULL, 'of the others: by a broker, as a relay has named',
    'SELECT count(*) FROM audit.forgotten');
CALL audit.find('amnesia unnamed', 0, 'times that a broker forgot more than a batch of events, and no relay said so',
    'SELECT count(*) FROM amnesia a
     WHERE sink IS NOT NULL AND NOT EXISTS (SELECT FROM audit.named n WHERE n.number = a.number)
         AND (SELECT count(*) FROM audit.delivered d WHERE destination = topic
              AND position >= ' || :epoch || ' * (number - 1) AND position < ' || :epoch || ' * number) > 200');
CALL audit.find('amnesia invented', 0, 'losses that relays named where no broker had forgotten anything',
    'SELECT count(*) FROM audit.named WHERE number IS NULL');
CALL audit.find('phantom', 0, 'delivered, never committed',
    'SELECT count(*) FROM audit.numbered d WHERE occurrence = 1
     AND NOT EXISTS (SELECT FROM audit.expected e WHERE e.id = d.id)');
CALL audit.find('altered', 0, 'messages unlike their row',
    'SELECT count(*) FROM audit.delivered d JOIN audit.expected e USING (id)
     WHERE (d.key, d.type, d.payload, audit.headers(d.others), d.message_id, audit.instant(d.created_at))
         IS DISTINCT FROM (e.key, e.type, e.payload, e.others, e.message_id, e.created_at)');
CALL audit.find('corrupt', 0, 'payloads unlike their own hash',
    'SELECT count(*) FROM audit.delivered
     WHERE NOT coalesce(md5(regexp_replace(payload, '' "hash": "[0-9a-f]{32}",'', ''''))
                        = substring(payload FROM ''"hash": "([0-9a-f]{32})"''), false)');
CALL audit.find('early', 0, 'messages that came before the time of their row',
    'SELECT count(*) FROM audit.delivered d JOIN ledger l ON l.event_id::text = d.id
     WHERE stored_ms < floor(extract(epoch FROM available_at) * 1000)');
CALL audit.find('misrouted', 0, 'on another topic or subject',
    'SELECT count(*) FROM audit.delivered d JOIN audit.expected e USING (id)
     WHERE d.destination IS DISTINCT FROM e.topic');
CALL audit.find('split keys', 0, 'keys on several partitions',
    'SELECT count(*) FROM (SELECT FROM audit.delivered WHERE key IS NOT NULL
                           GROUP BY destination, key HAVING count(DISTINCT partition) > 1) split');

CALL audit.find('replays lost', 0, 'rows that replay had copied, not delivered again',
    'SELECT coalesce(sum(greatest(asked.done - coalesce(came, 0), 0)), 0) FROM (
         SELECT event_id::text AS id, count(*) FILTER (WHERE done AND NOT EXISTS (
             SELECT FROM amnesia a JOIN ledger l USING (topic) WHERE l.event_id = q.event_id AND a.at > q.at)) AS done
         FROM asked q GROUP BY 1) asked
     LEFT JOIN (SELECT id, count(*) AS came FROM audit.replayed WHERE occurrence = 1 GROUP BY 1) r
     USING (id)');
CALL audit.find('replays unasked', 0, 'messages marked as replayed that nobody asked for',
    'SELECT coalesce(sum(greatest(came - coalesce(times, 0), 0)), 0) FROM (
         SELECT id, count(*) AS came FROM audit.replayed WHERE occurrence = 1 GROUP BY 1) r
     LEFT JOIN (SELECT event_id::text AS id, count(*) AS times FROM asked GROUP BY 1) a USING (id)');
CALL audit.find('replays altered', 0, 'messages marked as replayed, unlike their row otherwise',
    'SELECT count(*) FROM audit.replayed d JOIN audit.expected e USING (id)
     WHERE (d.destination, d.key, d.type, d.payload, audit.headers(d.others), d.message_id,
            audit.instant(d.created_at))
         IS DISTINCT FROM (e.topic, e.key, e.type, e.payload, e.others,
            CASE WHEN e.message_id <> '''' THEN e.message_id || ''/'' || d.replayed_at ELSE '''' END,
            e.created_at)');
CALL audit.find('replays out of order', :order_allowed,
    'of one replay, behind a later one of the key',
    'SELECT count(*) FROM (
        SELECT place, max(place) OVER (PARTITION BY destination, partition, r.key, replayed_at
            ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
        FROM audit.replayed r JOIN audit.place p USING (id) WHERE occurrence = 1) e
     WHERE place < before');

CALL audit.find('poison alive', 0, 'poison rows that are not dead',
    'SELECT count(*) FROM audit.expected e WHERE poison
     AND NOT EXISTS (SELECT FROM audit.dead d WHERE d.id = e.id)');
CALL audit.find('poison published', 0, 'poison rows in a broker',
    'SELECT count(*) FROM audit.delivered d JOIN audit.expected e USING (id) WHERE poison');
CALL audit.find('dead wrongly', 0, 'good rows that are dead',
    'SELECT count(*) FROM audit.dead d LEFT JOIN audit.expected e USING (id)
     WHERE poison IS DISTINCT FROM true');
CALL audit.find('dead silently', 0, 'dead rows without a reason',
    'SELECT count(*) FROM audit.dead WHERE coalesce(error, '''') = ''''');
CALL audit.find('dead without raw', 0, 'rows whose expression failed, not kept as they were',
    'SELECT count(*) FROM audit.dead d JOIN ledger l ON l.event_id::text = d.id
     WHERE EXISTS (SELECT FROM pg_attribute WHERE attrelid = ''outbox''::regclass AND attname = ''available_at'')
         AND (l.payload ? ''divisor'' OR jsonb_typeof(l.payload) = ''number'')
         AND (raw->''payload'', raw->>''key'', raw->>''type'') IS DISTINCT FROM (l.payload, l.key, l.type)');
CALL audit.find('dead in place', 0, 'dead rows of which the outbox says nothing, or something else; and such as are not dead',
    'SELECT count(*) FROM audit.dead d FULL JOIN (SELECT id, event_id::text, to_jsonb(o) AS kept FROM outbox o
                                                  WHERE to_jsonb(o)->>''status'' = ''DEAD'') o ON o.event_id = d.id
     WHERE EXISTS (SELECT FROM pg_attribute WHERE attrelid = ''outbox''::regclass AND attname = ''last_error'')
         AND (d.id IS NULL OR (kept->>''last_error'', kept->>''attempts'' > ''0'') IS DISTINCT FROM (d.error, true))
         AND NOT EXISTS (SELECT FROM told t JOIN ledger l ON t.id = l.id % 1000000000000 WHERE l.event_id::text = coalesce(d.id, o.event_id))');

-- Every transfer in the bank's own book, and every event, must have its counterpart.
CALL audit.find('history', 0, 'transfers and events unmatched',
    'SELECT count(*) FROM (
        (SELECT tid, bid, aid, delta FROM audit.event
         EXCEPT ALL SELECT tid, bid, aid, delta FROM pgbench_history)
        UNION ALL
        (SELECT tid, bid, aid, delta FROM pgbench_history
         EXCEPT ALL SELECT tid, bid, aid, delta FROM audit.event)) unmatched');
CALL audit.find('branches', 0, 'balances unlike the events',
    'SELECT count(*) FROM pgbench_branches b
     FULL JOIN (SELECT bid, sum(delta) AS total FROM audit.event GROUP BY bid) e USING (bid)
     WHERE b.bbalance IS DISTINCT FROM coalesce(e.total, 0)');
CALL audit.find('tellers', 0, 'balances unlike the events',
    'SELECT count(*) FROM pgbench_tellers t
     FULL JOIN (SELECT tid, sum(delta) AS total FROM audit.event GROUP BY tid) e USING (tid)
     WHERE t.tbalance IS DISTINCT FROM coalesce(e.total, 0)');
CALL audit.find('accounts', 0, 'balances unlike the events',
    'SELECT count(*) FROM pgbench_accounts a
     FULL JOIN (SELECT aid, sum(delta) AS total FROM audit.event GROUP BY aid) e USING (aid)
     WHERE a.abalance IS DISTINCT FROM coalesce(e.total, 0)');

-- The application's part: behind the lock of a key its ids are drawn in its order.
CALL audit.find('contract', :order_allowed, 'ids of a key that the application drew out of order',
    'SELECT count(*) FROM (
        SELECT id, lag(id) OVER (PARTITION BY key ORDER BY place_of(id, payload)) AS before
        FROM ledger WHERE NOT poison AND key IS NOT NULL) e WHERE id < before');

-- After dropping what came again: an event behind a later one of its key.
CREATE TABLE audit.late AS
    SELECT id, type FROM (
        SELECT id, place, max(place) OVER (PARTITION BY destination, partition, p.key ORDER BY position
                                           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
        FROM audit.event JOIN audit.place p USING (id)) e
        LEFT JOIN audit.expected USING (id)
    WHERE place < before;
CALL audit.find('out of order', :order_allowed, 'first occurrences behind a later event of the key',
    'SELECT count(*) FROM audit.late');
CALL audit.find('ahead of unseen', :order_allowed,
    'events delivered before an earlier one of the key',
    'SELECT count(*) FROM (
        SELECT place, row_number() OVER (PARTITION BY destination, partition, p.key
                                         ORDER BY position) AS arrived
        FROM audit.event JOIN audit.place p USING (id)) e WHERE place > arrived');
CALL audit.find('ahead of the dead', :order_allowed,
    'events delivered before the dead row of their key was dropped',
    'SELECT count(*) FROM audit.numbered d JOIN ledger l ON l.event_id::text = d.id
     WHERE NOT l.poison AND stored_ms < ' || :dropped_ms || ' AND EXISTS (
         SELECT FROM ledger p WHERE p.poison AND p.key = l.key AND p.id < l.id)');
