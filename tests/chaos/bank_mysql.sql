-- The bank of bank.sql, for MariaDB and MySQL: the tables, the ledger, and the transactions, of which the clients name the
-- parts by chance. The books are copied to the auditor's PostgreSQL at the end (mysql_run.py), so payloads are what jsonb
-- would say.

CREATE TABLE pgbench_branches (bid INT PRIMARY KEY, bbalance BIGINT NOT NULL DEFAULT 0, seq BIGINT NOT NULL DEFAULT 0);
CREATE TABLE pgbench_tellers (tid INT PRIMARY KEY, tbalance BIGINT NOT NULL DEFAULT 0);
CREATE TABLE pgbench_accounts (aid INT PRIMARY KEY, abalance BIGINT NOT NULL DEFAULT 0, seq BIGINT NOT NULL DEFAULT 0);
CREATE TABLE pgbench_history (n BIGINT AUTO_INCREMENT PRIMARY KEY, tid INT, bid INT, aid INT, delta INT);
CREATE TABLE elsewhere (n BIGINT PRIMARY KEY, filler CHAR(200));
-- Keys of transactions that stay open or are prepared; and keys with a row that is to end dead amid good ones.
CREATE TABLE emitter (name VARCHAR(40) PRIMARY KEY, seq BIGINT NOT NULL DEFAULT 0);
INSERT INTO emitter (name) VALUES ('long1'), ('long2'), ('long3'), ('long4'), ('xa1'), ('xa2');
CREATE TABLE broker (name VARCHAR(8));

CREATE TABLE ledger (
    event_id CHAR(36) CHARACTER SET ascii PRIMARY KEY, id BIGINT NOT NULL, topic VARCHAR(249), `key` VARBINARY(1024),
    type VARCHAR(255), payload LONGTEXT, headers LONGTEXT, created_at TIMESTAMP(6), poison BOOLEAN NOT NULL, KEY (id), KEY (`key`)
) CHARACTER SET utf8mb4;

DELIMITER //
-- A table that takes the place of the outbox has the events already.
CREATE PROCEDURE enter(event_id CHAR(36), id BIGINT, topic VARCHAR(249), k VARBINARY(1024), type VARCHAR(255),
                       payload LONGTEXT, headers LONGTEXT, created_at TIMESTAMP(6))
    INSERT IGNORE INTO ledger VALUES (event_id, id, REPLACE(topic, '.größe.銀行', '.bank'), k, type, payload, headers,
                                      created_at, COALESCE(type LIKE 'poison %', FALSE))//
CREATE TRIGGER ledger AFTER INSERT ON outbox FOR EACH ROW
    CALL enter(NEW.event_id, NEW.id, NEW.topic, NEW.`key`, NEW.type, NEW.payload, NEW.headers, NEW.created_at)//

-- A quarter of the keys has a topic that routes lead to the bank's own.
CREATE FUNCTION topic_of(k VARCHAR(40)) RETURNS VARCHAR(40) CHARSET utf8mb4 READS SQL DATA
    RETURN (SELECT CONCAT(IF(name = 'both', ELT(1 + (CRC32(k) & 1), 'kafka', 'nats'), name),
                          IF(CRC32(k) & 6, '.bank', '.größe.銀行')) FROM broker)//

-- The hash covers all the rest of it.
CREATE FUNCTION payload_of(event CHAR(36), k VARCHAR(40), seq BIGINT, tid INT, bid INT, aid INT, delta INT, client INT,
                           nonce BIGINT, pause_s FLOAT) RETURNS TEXT CHARSET utf8mb4 READS SQL DATA
BEGIN
    DECLARE head TEXT DEFAULT CONCAT('{"aid": ', aid, ', "bid": ', bid, ', "key": ', IFNULL(CONCAT('"', k, '"'), 'null'),
        ', "pad": "', REPEAT('x', nonce % 300), '", "seq": ', seq, ', "tid": ', tid);
    DECLARE tail TEXT DEFAULT CONCAT(', "delta": ', delta, ', "nonce": ', nonce, ', "client": ', client, ', "event_id": "',
        event, '"}');
    IF pause_s > 0 THEN
        DO SLEEP(pause_s);
    END IF;
    RETURN CONCAT(head, ', "hash": "', MD5(CONCAT(head, tail)), '"', tail);
END//

-- The events of a transfer, one or three in one statement, of a key that the caller has locked. A pause comes when the
-- ids are drawn and one of the rows is there.
CREATE PROCEDURE post(k VARCHAR(40), seq BIGINT, tid INT, bid INT, aid INT, delta INT, client INT, nonce BIGINT,
                      kind VARCHAR(20), events INT, pause_s FLOAT)
BEGIN
    DECLARE topic VARCHAR(40) CHARACTER SET utf8mb4 DEFAULT topic_of(COALESCE(k, nonce));
    DECLARE a, b, c CHAR(36) CHARACTER SET ascii;
    SET a = UUID(), b = UUID(), c = UUID();
    IF events = 1 THEN
        INSERT INTO outbox (event_id, topic, `key`, type, payload, headers)
        VALUES (a, topic, k, kind, payload_of(a, k, seq, tid, bid, aid, delta, client, nonce, 0),
                CONCAT('{"seq": "', seq, '", "client": "', client, '"}'));
    ELSE
        INSERT INTO outbox (event_id, topic, `key`, type, payload, headers)
        VALUES (a, topic, k, kind, payload_of(a, k, seq, tid, bid, aid, delta, client, nonce, 0), '{"row": "1"}'),
               (b, topic, k, kind, payload_of(b, k, seq + 1, tid, bid, aid, delta, client, nonce + 1, pause_s), NULL),
               (c, topic, k, kind, payload_of(c, k, seq + 2, tid, bid, aid, delta, client, nonce + 2, 0), '{"row": "3"}');
        INSERT INTO pgbench_history (tid, bid, aid, delta) VALUES (tid, bid, aid, delta), (tid, bid, aid, delta);
    END IF;
    INSERT INTO pgbench_history (tid, bid, aid, delta) VALUES (tid, bid, aid, delta);
END//

-- Transfers with an event each, of a branch (few keys, each of them hot) or of an account; it locks the row of the key. The
-- events come last: who has inserted some waits for no row while somebody waits to change the table.
CREATE PROCEDURE transfer(hot BOOLEAN, p_aid INT, p_bid INT, p_tid INT, delta INT, client INT, nonce BIGINT,
                          kind VARCHAR(20), events INT, pause_s FLOAT)
BEGIN
    DECLARE n BIGINT;
    IF hot THEN
        SELECT seq INTO n FROM pgbench_branches WHERE bid = p_bid FOR UPDATE;
    ELSE
        SELECT seq INTO n FROM pgbench_accounts WHERE aid = p_aid FOR UPDATE;
    END IF;
    UPDATE pgbench_accounts SET abalance = abalance + events * delta, seq = seq + IF(hot, 0, events) WHERE aid = p_aid;
    UPDATE pgbench_tellers SET tbalance = tbalance + events * delta WHERE tid = p_tid;
    UPDATE pgbench_branches SET bbalance = bbalance + events * delta, seq = seq + IF(hot, events, 0) WHERE bid = p_bid;
    CALL post(CONCAT(IF(hot, 'b', 'a'), IF(hot, p_bid, p_aid)), n + 1, p_tid, p_bid, p_aid, delta, client, nonce, kind, events,
              pause_s);
END//

-- Of a hundred transactions three insert an event and roll back to the savepoint before it, five insert three events in a
-- statement, two do so slowly, two sleep before they end, four have an event without a key, and ten are rolled back. Who
-- meets a deadlock, or waits for too long, is rolled back too.
CREATE PROCEDURE pay(hot BOOLEAN, aid INT, bid INT, tid INT, delta INT, client INT, nonce BIGINT, ms INT, fate INT)
BEGIN
    DECLARE EXIT HANDLER FOR SQLEXCEPTION ROLLBACK;
    START TRANSACTION;
    IF fate <= 3 THEN
        SAVEPOINT event;
        CALL transfer(hot, aid, bid, tid, delta, client, nonce + 5, 'transfer', 1, 0);
        ROLLBACK TO SAVEPOINT event;
    END IF;
    IF fate BETWEEN 4 AND 8 THEN
        CALL transfer(hot, aid, bid, tid, delta, client, nonce, 'several', 3, 0);
    ELSEIF fate IN (9, 10) THEN
        CALL transfer(hot, aid, bid, tid, delta, client, nonce, 'slow', 3, ms / 1000);
    ELSEIF fate BETWEEN 13 AND 16 THEN
        CALL post(NULL, 0, 1, 1, 1, 0, client, nonce, 'keyless', 1, 0);
    ELSE
        CALL transfer(hot, aid, bid, tid, delta, client, nonce, 'transfer', 1, 0);
    END IF;
    IF fate IN (11, 12) THEN
        DO SLEEP(ms / 1000);
    END IF;
    IF fate > 90 THEN
        ROLLBACK;
    ELSE
        COMMIT;
    END IF;
END//

-- An event that moves no money, in the caller's transaction.
CREATE PROCEDURE emit(p_name VARCHAR(40), kind VARCHAR(20))
BEGIN
    DECLARE n BIGINT;
    SELECT seq + 1 INTO n FROM emitter WHERE name = p_name FOR UPDATE;
    UPDATE emitter SET seq = n WHERE name = p_name;
    CALL post(p_name, n, 1, 1, 1, 0, 0, n, kind, 1, 0);
END//

CREATE PROCEDURE refuse(event_id CHAR(36))
IF CRC32(event_id) % 20 = 0 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'this row is closed';
END IF//

-- A key with good rows, one that can never be sent, and good ones behind it.
CREATE PROCEDURE hold(held VARCHAR(40))
BEGIN
    START TRANSACTION;
    INSERT INTO emitter (name) VALUES (held);
    CALL emit(held, 'transfer');
    CALL emit(held, 'transfer');
    UPDATE emitter SET seq = seq + 1 WHERE name = held;
    INSERT INTO outbox (topic, `key`, type, payload, headers)
    SELECT topic_of(held), held, 'poison nested', CONCAT('{"seq": ', seq, '}'), '{"nested": {}}' FROM emitter WHERE name = held;
    CALL emit(held, 'transfer');
    CALL emit(held, 'transfer');
    COMMIT;
END//
DELIMITER ;
