-- The other contract: the application locks nothing, and the order trigger keeps the order of a key, which is that of its
-- ids. A COPY of many keys passes the gate, and more keys in one statement come in the order of their buckets. Without
-- the trigger (:trigger is false) nobody keeps the order.

CREATE OR REPLACE FUNCTION lock_key(class int, key int) RETURNS void LANGUAGE sql AS 'SELECT';
CREATE OR REPLACE FUNCTION key_to_copy(branch int, line int) RETURNS text LANGUAGE sql AS $$
    SELECT 'free' || 1 + $1 * $2 % 20
$$;
CREATE OR REPLACE FUNCTION place_of(id bigint, payload jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT id';
\if :trigger
-- Everybody waits behind one who waits at the gate, so nobody waits there for long.
CREATE OR REPLACE FUNCTION lock_to_copy(branch int) RETURNS void LANGUAGE sql SET lock_timeout = '300ms' AS
    'SELECT outbox_gate()';
CREATE FUNCTION bucket_of(key text) RETURNS int LANGUAGE sql AS 'SELECT outbox_bucket($1)';
\else
CREATE OR REPLACE FUNCTION lock_to_copy(branch int) RETURNS void LANGUAGE sql AS 'SELECT';
CREATE FUNCTION bucket_of(key text) RETURNS int LANGUAGE sql AS 'SELECT 0';
\endif

-- Events of two keys in one statement, which move no money.
CREATE FUNCTION post_two(one int, other int, client int, nonce bigint) RETURNS void LANGUAGE sql AS $$
    SELECT count(post('free' || n, 0, 1, 1, 1, 0, client, nonce + n))
    FROM (SELECT n FROM (VALUES (one), (other)) v (n) ORDER BY bucket_of('free' || n)) sorted;
    INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
        SELECT 1, 1, 1, 0, CURRENT_TIMESTAMP FROM generate_series(1, 2)
$$;
