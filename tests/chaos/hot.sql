-- pgbench's own TPC-B transfer, and in the same transaction the event that tells of it, keyed by
-- the branch: few keys, each of them hot. Of a hundred transactions three insert an event and roll
-- back to the savepoint before it, five insert two events, two sleep on the key's lock, so that
-- their low ids become visible late, and ten are rolled back. The lock of a branch's key is the
-- advisory one: slow_hot.sql inserts before it has written anything.

\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
\set delta2 random(-5000, 5000)
\set nonce random(1, 9000000000000000)
\set ms random(50, 500)
\set fate random(1, 100)

BEGIN;
SELECT lock_key(1, :bid);
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta, seq = seq + 1 WHERE bid = :bid
    RETURNING seq \gset
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
    VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
\if :fate <= 3
SAVEPOINT event;
SELECT post('b' || :bid, :seq, :tid, :bid, :aid, :delta, :client_id, :nonce + 1);
ROLLBACK TO SAVEPOINT event;
\endif
SELECT post('b' || :bid, :seq, :tid, :bid, :aid, :delta, :client_id, :nonce);
\if :fate > 3 and :fate <= 8
UPDATE pgbench_accounts SET abalance = abalance + :delta2 WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta2 WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta2, seq = seq + 1 WHERE bid = :bid
    RETURNING seq \gset
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
    VALUES (:tid, :bid, :aid, :delta2, CURRENT_TIMESTAMP);
SELECT post('b' || :bid, :seq, :tid, :bid, :aid, :delta2, :client_id, :nonce + 2);
\endif
\if :fate > 8 and :fate <= 10
SELECT pg_sleep(:ms / 1000.0);
\endif
\if :fate > 90
ROLLBACK;
\else
COMMIT;
\endif
