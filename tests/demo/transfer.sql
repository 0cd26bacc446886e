-- pgbench's own TPC-B transaction, and in the same transaction the event that tells of it, keyed by the
-- branch. The order trigger locks the key, so the events of a key commit in the order of their ids.
-- One in ten transactions is rolled back: its event must never reach a broker.

\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
\set nonce random(1, 9000000000000000)
\set fate random(1, 10)

BEGIN;
SELECT post('b' || :bid, 0, :tid, :bid, :aid, :delta, :client_id, :nonce);
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
    VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
\if :fate = 1
ROLLBACK;
\else
COMMIT;
\endif
