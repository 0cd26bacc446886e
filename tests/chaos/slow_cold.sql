-- As slow_hot.sql, of an account's key. Nobody waits for it.

\set aid random(1, 100000)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
\set nonce random(1, 9000000000000000)
\set ms random(300, 1500)
\set fate random(1, 100)

BEGIN;
SELECT lock_key(2, :aid);
SELECT seq + 1 AS seq FROM pgbench_accounts WHERE aid = :aid \gset
SELECT post('a' || :aid, :seq, :tid, :bid, :aid, :delta, :client_id, :nonce, 'slow', :ms / 1000.0);
UPDATE pgbench_accounts SET abalance = abalance + :delta, seq = seq + 1 WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
    VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
\if :fate > 90
ROLLBACK;
\else
COMMIT;
\endif

BEGIN;
SELECT lock_key(2, :aid);
UPDATE pgbench_accounts SET seq = seq + 1 WHERE aid = :aid RETURNING seq \gset
SELECT post('a' || :aid, :seq, 1, 1, 1, 0, :client_id, :nonce + 1);
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 1, 1, 0, CURRENT_TIMESTAMP);
COMMIT;
