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
    event_id uuid PRIMARY KEY, id bigint, topic text, key text, type text, payload jsonb,
    headers jsonb, created_at timestamptz, poison boolean NOT NULL
);

CREATE FUNCTION copy_to_ledger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ledger VALUES (NEW.event_id, NEW.id, NEW.topic, NEW.key, NEW.type, NEW.payload,
                               NEW.headers, NEW.created_at,
                               NEW.type IS NOT NULL AND starts_with(NEW.type, 'poison '));
    RETURN NULL;
END $$;
CREATE TRIGGER ledger AFTER INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION copy_to_ledger();

CREATE TABLE broker AS SELECT :'brokers'::text AS name;
CREATE FUNCTION topic_of(key text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN name = 'both' THEN (ARRAY['kafka.bank', 'nats.bank'])[1 + (hashtext($1) & 1)]
                ELSE name || '.bank' END FROM broker
$$;

-- The event of a transfer. seq counts the events of a key and is drawn under the lock of the key's
-- row; the hash covers all the rest of the payload.
CREATE FUNCTION post(key text, seq bigint, tid int, bid int, aid int, delta int, client int,
                     nonce bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    event uuid := gen_random_uuid();
    body jsonb := jsonb_build_object(
        'event_id', event, 'key', key, 'seq', seq, 'tid', tid, 'bid', bid, 'aid', aid,
        'delta', delta, 'client', client, 'nonce', nonce, 'pad', repeat('x', (nonce % 300)::int));
BEGIN
    INSERT INTO outbox (event_id, topic, key, type, payload, headers)
    VALUES (event, topic_of(key), key, 'transfer',
            body || jsonb_build_object('hash', md5(body::text)),
            jsonb_build_object('client', client::text, 'seq', seq));
END $$;

-- Keys with a row that is to end dead amid good ones, which move no money: with order = "key" those
-- behind it wait until the operator drops it, and with it goes what is kept in `dropped`.
CREATE TABLE held (key text PRIMARY KEY, seq bigint NOT NULL DEFAULT 0);
CREATE TABLE dropped (event_id uuid, error text);

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

CREATE FUNCTION hold(held_key text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO held (key) VALUES (held_key);
    PERFORM post_held(held_key, 3);
    INSERT INTO outbox (topic, key, type, payload, headers)
        VALUES (topic_of(held_key), held_key, 'poison held', '{}', '{"nested": {}}');
    PERFORM post_held(held_key, 3);
END $$;

-- A walwriter that sleeps: what was committed with synchronous_commit = off stays in memory until
-- another commit takes it along, and a PostgreSQL that is killed forgets it.
ALTER SYSTEM SET wal_writer_delay = '10s';
SELECT pg_reload_conf() \g /dev/null
