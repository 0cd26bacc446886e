-- Part: what the order trigger does. The row of the bucket is locked until the transaction ends, and never changed;
-- without it nothing would be locked.
BEGIN
    DECLARE relay_bucket SMALLINT UNSIGNED;
    IF NEW.{key_name} IS NOT NULL THEN
        SELECT b.bucket INTO relay_bucket FROM {order_table} b
        WHERE b.bucket = CRC32({new_key_bytes}) MOD 1024 FOR UPDATE;
        IF relay_bucket IS NULL THEN
            SIGNAL SQLSTATE '45000'
                SET MESSAGE_TEXT = 'outbox-relay: the bucket of this key is gone: run init --order-trigger';
        END IF;
    END IF;
    {if is_mariadb}
    SET NEW.{id_name} = NEXTVAL({order_sequence});
    {end}
END
