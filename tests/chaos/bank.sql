-- What the run adds to pgbench's bank and the relay's tables, before the first event.
--
-- The ledger is the truth of the run: a trigger copies each event into it, in the transaction that
-- inserts the event, and nothing ever takes one out. It shares the fate of the event's commit, even
-- where PostgreSQL is killed and forgets one, and it outlives delete, parking and purge.
-- :brokers is kafka, nats or both.

\set QUIET on
SET client_min_messages = warning;

ALTER TABLE pgbench_branches ADD COLUMN seq bigint NOT NULL DEFAULT 0;
ALTER TABLE pgbench_accounts ADD COLUMN seq bigint NOT NULL DEFAULT 0;

CREATE TABLE ledger (
    event_id uuid PRIMARY KEY, id bigint /* with ids.base */, topic text /* its destination */, key text, type text, payload jsonb,
    headers jsonb, created_at timestamptz, poison boolean NOT NULL, available_at timestamptz
);

-- Ids may begin anew (inject.py); then base is higher, so that the ids of the ledger go on.
CREATE TABLE ids AS SELECT 0::bigint AS base;
CREATE TABLE removed (event_id uuid);

-- A topic beyond ASCII has a route to the bank's own (workload.go_beyond_ascii).
CREATE FUNCTION destination_of(topic text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT replace(topic, '.größe.銀行', '.bank')
$$;

-- What a column holds and what is sent differ where computed.sql made the table.
SELECT to_regproc('stored') IS NULL AS is_plain \gset
\if :is_plain
CREATE FUNCTION stored(payload jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS 'SELECT payload';
CREATE FUNCTION sent_headers(headers jsonb, type text, payload jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS
    'SELECT headers';
\endif

CREATE FUNCTION copy_to_ledger() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE is_poison boolean := NEW.type IS NOT NULL AND starts_with(NEW.type, 'poison ');
BEGIN
    INSERT INTO ledger VALUES (NEW.event_id, NEW.id + (SELECT base FROM ids), destination_of(NEW.topic), NEW.key, NEW.type,
                               CASE WHEN is_poison THEN NEW.payload ELSE NEW.payload - 'internal' END,
                               sent_headers(NEW.headers, NEW.type, NEW.payload), NEW.created_at, is_poison,
                               (to_jsonb(NEW)->>'available_at')::timestamptz);
    RETURN NULL;
END $$;
CREATE TRIGGER ledger AFTER INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION copy_to_ledger();

-- The contract of the application: it locks a key before it inserts, and numbers the events of the key under the lock
-- (seq), which is their order. contract.sql replaces these.
CREATE FUNCTION lock_key(class int, key int) RETURNS void LANGUAGE sql AS 'SELECT pg_advisory_xact_lock($1, $2)';
CREATE FUNCTION lock_to_copy(branch int) RETURNS void LANGUAGE sql AS 'SELECT lock_key(1, $1)';
CREATE FUNCTION key_to_copy(branch int, line int) RETURNS text LANGUAGE sql AS $$SELECT 'b' || $1$$;
CREATE FUNCTION place_of(id bigint, payload jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT (payload->>'seq')::bigint
$$;

CREATE TABLE broker AS SELECT :'brokers'::text AS name;
CREATE FUNCTION topic_of(key text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN name = 'both' THEN (ARRAY['kafka.bank', 'nats.bank'])[1 + (hashtext($1) & 1)]
                ELSE name || '.bank' END FROM broker
$$;

-- The payload of an event. The hash covers all the rest of it.
CREATE FUNCTION payload_of(event uuid, key text, seq bigint, tid int, bid int, aid int, delta int,
                           client int, nonce bigint) RETURNS jsonb LANGUAGE sql AS $$
    SELECT body || jsonb_build_object('hash', md5(body::text)) FROM jsonb_build_object(
        'event_id', event, 'key', key, 'seq', seq, 'tid', tid, 'bid', bid, 'aid', aid,
        'delta', delta, 'client', client, 'nonce', nonce,
        'pad', repeat('x', (nonce % 300)::int)) body
$$;

CREATE FUNCTION after_pause(payload jsonb, seconds float) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
    IF seconds > 0 THEN
        PERFORM pg_sleep(seconds);
    END IF;
    RETURN payload;
END $$;

-- Who closes it waits for the transactions with events, and no other begins.
CREATE FUNCTION pass_gate() RETURNS void LANGUAGE sql AS 'SELECT pg_advisory_xact_lock_shared(3, 0)';

-- The event of a transfer. seq counts the events of a key and is drawn under the lock of the key.
-- Without a key it means nothing. A pause comes when the id is drawn, and before the row is there.
CREATE FUNCTION post(key text, seq bigint, tid int, bid int, aid int, delta int, client int,
                     nonce bigint, kind text DEFAULT 'transfer', pause_s float DEFAULT 0)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    event uuid := gen_random_uuid();
    body jsonb := payload_of(event, key, seq, tid, bid, aid, delta, client, nonce);
BEGIN
    PERFORM pass_gate();
    INSERT INTO outbox (event_id, topic, key, type, payload, headers)
    VALUES (event, topic_of(coalesce(key, event::text)), key, kind, after_pause(stored(body), pause_s),
            jsonb_build_object('client', client::text, 'seq', seq));
END $$;

-- One more event of a branch, which moves no money; who calls it holds the lock of the key.
CREATE FUNCTION post_next(branch int, client int, nonce bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE next bigint;
BEGIN
    UPDATE pgbench_branches SET seq = seq + 1 WHERE bid = branch RETURNING seq INTO next;
    PERFORM post('b' || branch, next, 1, 1, 1, 0, client, nonce);
    INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
        VALUES (1, 1, 1, 0, CURRENT_TIMESTAMP);
END $$;

-- Lines for a COPY into the outbox, of so many transfers of a branch; who calls it holds the lock
-- of the branch's key. The transfers are booked when their events are in.
CREATE FUNCTION lines_to_copy(branch int, lines int, tid int, aid int, delta int)
RETURNS SETOF text LANGUAGE sql VOLATILE AS $$
    SELECT concat_ws(E'\t', event, topic_of(key), key, 'copied',
                     stored(payload_of(event, key, b.seq + n, tid, branch, aid, delta, 0, 299)),
                     jsonb_build_object('client', '0', 'seq', b.seq + n))
    FROM pgbench_branches b,
         (SELECT n, gen_random_uuid() AS event, key_to_copy(branch, n) AS key FROM generate_series(1, lines) n) e
    WHERE bid = branch ORDER BY n
$$;
CREATE FUNCTION book_copied(branch int, lines int, tid int, aid int, delta int)
RETURNS void LANGUAGE sql AS $$
    UPDATE pgbench_accounts a SET abalance = abalance + lines * delta
        WHERE a.aid = book_copied.aid;
    UPDATE pgbench_tellers t SET tbalance = tbalance + lines * delta
        WHERE t.tid = book_copied.tid;
    UPDATE pgbench_branches SET bbalance = bbalance + lines * delta, seq = seq + lines
        WHERE bid = branch;
    INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
        SELECT tid, branch, aid, delta, CURRENT_TIMESTAMP FROM generate_series(1, lines);
$$;

-- Keys of transactions that stay open while they emit events, which move no money. Who emits holds
-- the lock of all of them.
CREATE TABLE emitter (key text PRIMARY KEY, seq bigint NOT NULL DEFAULT 0);
INSERT INTO emitter SELECT 'long' || n FROM generate_series(1, 4) n;
CREATE FUNCTION emit(emitter_key text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE next bigint;
BEGIN
    UPDATE emitter SET seq = seq + 1 WHERE key = emitter_key RETURNING seq INTO next;
    PERFORM post(emitter_key, next, 1, 1, 1, 0, 0, next, 'emitted');
    INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
        VALUES (1, 1, 1, 0, CURRENT_TIMESTAMP);
END $$;

-- What has nothing to do with the outbox, for transactions that write elsewhere.
CREATE TABLE elsewhere (n bigint);
INSERT INTO elsewhere VALUES (0);

-- Keys with a row that is to end dead amid good ones, which move no money: with order = "key" those
-- behind it wait until the operator drops it, and with it goes what is kept in `dropped`.
CREATE TABLE held (key text PRIMARY KEY, seq bigint NOT NULL DEFAULT 0, is_closed boolean NOT NULL DEFAULT false);
CREATE TABLE dropped (event_id uuid, error text, raw jsonb);

-- A row whose expression failed is kept as a whole.
CREATE FUNCTION dead_rows() RETURNS SETOF dropped LANGUAGE sql STABLE AS $$
    SELECT coalesce(event_id, (raw->>'event_id')::uuid), error, raw
    FROM (SELECT event_id, error, (to_jsonb(p)->>'raw')::jsonb AS raw FROM outbox_parked p WHERE state = 'dead') dead
$$;

-- Rows that PostgreSQL refused to change, and whose copies relays have settled alone, as they have told.
CREATE TABLE told (id bigint);

-- What the operator asked to be sent again; done: the command said so.
CREATE TABLE asked (event_id uuid, attempt bigint, done boolean, at timestamptz DEFAULT clock_timestamp());

-- Each time that a broker was made to forget (sink NULL: a purge), what may have lain there, and the losses that relays
-- named: amnesia.py.
CREATE TABLE amnesia (
    number int PRIMARY KEY, topic text, sink text, place text, at timestamptz DEFAULT clock_timestamp(), over timestamptz
);
CREATE TABLE forgettable (number int, event_id uuid);
CREATE TABLE named (about jsonb, at timestamptz DEFAULT clock_timestamp());

CREATE FUNCTION post_held(held_key text, count int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE next bigint;
BEGIN
    FOR i IN 1 .. count LOOP
        UPDATE held SET seq = seq + 1 WHERE key = held_key RETURNING seq INTO next;
        PERFORM post(held_key, next, 1, 1, 1, 0, 0, next);
        INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
            VALUES (1, 1, 1, 0, CURRENT_TIMESTAMP);
    END LOOP;
END $$;

-- Where values are computed, the expression of a header divides by its divisor; elsewhere its own headers are at fault.
CREATE FUNCTION post_failing(key text, seq bigint DEFAULT 0) RETURNS void LANGUAGE sql AS $$
    INSERT INTO outbox (topic, key, type, payload, headers)
    VALUES (topic_of(coalesce(key, 'none')), key, 'poison divisor', jsonb_build_object('key', key, 'divisor', 0, 'seq', seq),
            '{"nested": {}}')
$$;

CREATE FUNCTION hold(held_key text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE next bigint;
BEGIN
    INSERT INTO held (key) VALUES (held_key);
    PERFORM post_held(held_key, 3);
    UPDATE held SET seq = seq + 1 WHERE key = held_key RETURNING seq INTO next;
    PERFORM post_failing(held_key, next);
    PERFORM post_held(held_key, 3);
END $$;

-- A walwriter that sleeps: what was committed with synchronous_commit = off stays in memory until
-- another commit takes it along, and a PostgreSQL that is killed forgets it.
ALTER SYSTEM SET wal_writer_delay = '10s';
SELECT pg_reload_conf() \g /dev/null
