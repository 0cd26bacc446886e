-- A transfer whose event has no key, and so neither a lock nor an order. Of ten one is rolled back.
-- Of fifty one comes with an event that can never be sent.

\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
\set nonce random(1, 9000000000000000)
\set fate random(1, 100)

BEGIN;
SELECT post(NULL, 0, :tid, :bid, :aid, :delta, :client_id, :nonce, 'keyless');
\if :fate <= 2
SELECT post_failing(NULL);
\endif
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
    VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
\if :fate > 90
ROLLBACK;
\else
COMMIT;
\endif
