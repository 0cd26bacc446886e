-- The bank of the demo in MariaDB. A transfer locks its branch, which is the key of its event, before it draws the
-- event's id. One in ten transfers is rolled back: its event must never reach a broker.

CREATE TABLE branch (bid INT PRIMARY KEY, balance BIGINT NOT NULL DEFAULT 0);
CREATE TABLE account (aid INT PRIMARY KEY, balance BIGINT NOT NULL DEFAULT 0);
INSERT INTO branch (bid) SELECT seq FROM seq_1_to_10;
INSERT INTO account (aid) SELECT seq FROM seq_1_to_100000;

-- What was committed: relays change the outbox, and nobody changes this.
CREATE TABLE ledger LIKE outbox;
CREATE TRIGGER ledger AFTER INSERT ON outbox FOR EACH ROW
    INSERT INTO ledger (id, event_id, topic, `key`, type, payload, headers, created_at)
    VALUES (NEW.id, NEW.event_id, NEW.topic, NEW.`key`, NEW.type, NEW.payload, NEW.headers, NEW.created_at);

DELIMITER //
CREATE PROCEDURE transfers(client INT, seconds INT, brokers VARCHAR(5))
BEGIN
    DECLARE ends DATETIME(6) DEFAULT SYSDATE(6) + INTERVAL seconds SECOND;
    DECLARE chosen, payer, moved INT;
    WHILE SYSDATE(6) < ends DO
        SET chosen = 1 + FLOOR(RAND() * 10), payer = 1 + FLOOR(RAND() * 100000), moved = FLOOR(RAND() * 10001) - 5000;
        START TRANSACTION;
        UPDATE branch SET balance = balance + moved WHERE bid = chosen;
        INSERT INTO outbox (topic, `key`, type, payload, headers)
            VALUES (IF(brokers = 'both' AND chosen MOD 2, 'kafka.bank', 'nats.bank'), CONCAT('b', chosen), 'transfer',
                    JSON_OBJECT('bid', chosen, 'delta', moved, 'pad', REPEAT('x', FLOOR(RAND() * 300))),
                    JSON_OBJECT('client', CAST(client AS CHAR)));
        UPDATE account SET balance = balance + moved WHERE aid = payer;
        IF RAND() < 0.1 THEN ROLLBACK; ELSE COMMIT; END IF;
    END WHILE;
END //
DELIMITER ;

-- What build/reader reads back.
CREATE TABLE delivered (
    arrival BIGINT, destination VARCHAR(249), part INT, position BIGINT, `key` VARBINARY(1024), id VARCHAR(36),
    type VARCHAR(255), created_at VARCHAR(40), message_id VARCHAR(36), others TEXT, payload LONGBLOB, stored_ms BIGINT, KEY (id)
);
