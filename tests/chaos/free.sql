-- As hot.sql and slow_hot.sql, without any lock: the event comes first, of one of twenty keys. Of a hundred transactions
-- three roll back to the savepoint before an event, five have events of two keys, two sleep after the event and two in
-- the INSERT, two are prepared and committed later, and ten are rolled back.

\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set key random(1, 20)
\set other random(1, 20)
\set delta random(-5000, 5000)
\set nonce random(1, 9000000000000000)
\set ms random(50, 500)
\set fate random(1, 100)

BEGIN;
\if :fate <= 3
SAVEPOINT event;
SELECT post('free' || :key, 0, :tid, :bid, :aid, :delta, :client_id, :nonce + 1);
ROLLBACK TO SAVEPOINT event;
\endif
\if :fate > 3 and :fate <= 8
SELECT post_two(:key, :other, :client_id, :nonce);
\else
\if :fate > 8 and :fate <= 10
SELECT post('free' || :key, 0, :tid, :bid, :aid, :delta, :client_id, :nonce, 'slow', :ms / 1000.0);
\else
SELECT post('free' || :key, 0, :tid, :bid, :aid, :delta, :client_id, :nonce);
\endif
\if :fate > 10 and :fate <= 12
SELECT pg_sleep(:ms / 1000.0);
\endif
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
    VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
\endif
\if :fate > 90
ROLLBACK;
\else
COMMIT;
\endif
