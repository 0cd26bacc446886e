-- An INSERT that takes long, of a branch's key: its id is drawn, and the row is there only 0.3 to
-- 1.5 s later. Nothing was written before, so that meanwhile the transaction has no number that
-- others could wait for: all that shows it is its lock on the table. Right behind it comes another
-- event of the key, so that the order is at stake whoever else has events of it. Of ten one is
-- rolled back.

\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
\set nonce random(1, 9000000000000000)
\set ms random(300, 1500)
\set fate random(1, 100)

BEGIN;
SELECT lock_key(1, :bid);
SELECT seq + 1 AS seq FROM pgbench_branches WHERE bid = :bid \gset
SELECT post('b' || :bid, :seq, :tid, :bid, :aid, :delta, :client_id, :nonce, 'slow', :ms / 1000.0);
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta, seq = seq + 1 WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
    VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
\if :fate > 90
ROLLBACK;
\else
COMMIT;
\endif

BEGIN;
SELECT lock_key(1, :bid);
SELECT post_next(:bid, :client_id, :nonce + 1);
COMMIT;
