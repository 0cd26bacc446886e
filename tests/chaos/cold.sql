-- As hot.sql, with events keyed by the account: 100,000 keys, each of them cold.

\set aid random(1, 100000)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
\set delta2 random(-5000, 5000)
\set nonce random(1, 9000000000000000)
\set ms random(50, 500)
\set fate random(1, 100)

BEGIN;
SELECT lock_key(2, :aid);
UPDATE pgbench_accounts SET abalance = abalance + :delta, seq = seq + 1 WHERE aid = :aid
    RETURNING seq \gset
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
    VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
\if :fate <= 3
SAVEPOINT event;
SELECT post('a' || :aid, :seq, :tid, :bid, :aid, :delta, :client_id, :nonce + 1);
ROLLBACK TO SAVEPOINT event;
\endif
SELECT post('a' || :aid, :seq, :tid, :bid, :aid, :delta, :client_id, :nonce);
\if :fate > 3 and :fate <= 8
UPDATE pgbench_accounts SET abalance = abalance + :delta2, seq = seq + 1 WHERE aid = :aid
    RETURNING seq \gset
UPDATE pgbench_tellers SET tbalance = tbalance + :delta2 WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta2 WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
    VALUES (:tid, :bid, :aid, :delta2, CURRENT_TIMESTAMP);
SELECT post('a' || :aid, :seq, :tid, :bid, :aid, :delta2, :client_id, :nonce + 2);
\endif
\if :fate > 8 and :fate <= 10
SELECT pg_sleep(:ms / 1000.0);
\endif
\if :fate > 90
ROLLBACK;
\else
COMMIT;
\endif
