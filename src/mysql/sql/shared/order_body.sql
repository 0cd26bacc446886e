-- Part: what the order trigger does. The row of the bucket is locked until the transaction ends, and never changed.
BEGIN
    DECLARE relay_bucket SMALLINT UNSIGNED;
    IF NEW.{key_name} IS NOT NULL THEN
        SELECT b.bucket INTO relay_bucket FROM {order_table} b
        WHERE b.bucket = CRC32({new_key_bytes}) MOD 1024 FOR UPDATE;
    END IF;
    {if is_mariadb}
    SET NEW.{id_name} = NEXTVAL({order_sequence});
    {end}
END
