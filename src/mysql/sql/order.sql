-- The order trigger, as `init --order-trigger` makes it. LOCK TABLES waits for the transactions that have written to
-- the outbox, and everybody else waits behind it: some milliseconds, or five seconds if one stays open. Then the outbox
-- is as before: run this again.
SET SESSION lock_wait_timeout = 5, sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION';
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
CREATE TABLE IF NOT EXISTS {order_table} (
    bucket SMALLINT UNSIGNED NOT NULL PRIMARY KEY    -- CRC32 of the key's bytes, modulo 1024
) ENGINE = InnoDB;
INSERT INTO {order_table}
WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 31)
SELECT high.n * 32 + low.n FROM n high CROSS JOIN n low
WHERE high.n * 32 + low.n NOT IN (SELECT there.bucket FROM {order_table} there);
{if is_mariadb}
CREATE SEQUENCE IF NOT EXISTS {order_sequence} ENGINE = InnoDB;
LOCK TABLES {outbox} WRITE, {order_sequence} WRITE;
-- The next id is above all that were drawn. A sequence that is there already never goes back.
SET @relay_next = (
    SELECT GREATEST(COALESCE(MAX(t.AUTO_INCREMENT), 1), COALESCE((SELECT MAX({id_name}) FROM {outbox}), 0) + 1)
    FROM information_schema.TABLES t WHERE t.TABLE_SCHEMA = {schema_text} AND t.TABLE_NAME = {table_text});
EXECUTE IMMEDIATE CONCAT('DO SETVAL(', {order_sequence_text}, ', ', @relay_next, ', 0)');
{else}
LOCK TABLES {outbox} WRITE;
{end}
{if is_mariadb}
{else}
{if !renamed}
DROP TRIGGER IF EXISTS {order_trigger};
{end}
{end}
{if printed}
DELIMITER ;;
{end}
CREATE {if is_mariadb}OR REPLACE {end}TRIGGER {order_trigger} BEFORE INSERT ON {outbox} FOR EACH ROW
{order_body};{if printed};
DELIMITER ;{end}
{if renamed}
DROP TRIGGER {replaced};
{end}
UNLOCK TABLES;
