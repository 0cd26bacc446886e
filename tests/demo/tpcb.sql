-- pgbench's own TPC-B transaction, and in the same transaction the event that tells of it. One in
-- ten transactions is rolled back after the insert: its event must never reach a broker. The nonce
-- is the client's, so that no two payloads are alike.

\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
\set nonce random(1, 9000000000000000)
\set fate random(1, 10)

BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
    VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
INSERT INTO outbox (topic, key, type, payload, headers)
    VALUES (CASE WHEN :bid % 2 = 1 THEN 'bank.left' ELSE 'bank.right' END,
            :bid::text,
            'transfer',
            jsonb_build_object('tid', :tid, 'bid', :bid, 'aid', :aid, 'delta', :delta,
                               'nonce', :client_id || '-' || :nonce),
            jsonb_build_object('client', :client_id::text));
\if :fate = 1
ROLLBACK;
\else
COMMIT;
\endif
