-- What the order trigger needs: how many buckets there are, and whether an id that the outbox has is above all that the
-- sequence has drawn.
SELECT (SELECT COUNT(*) FROM {order_table}),
       {if is_mariadb}
       (SELECT MAX(t.AUTO_INCREMENT) FROM information_schema.TABLES t
        WHERE t.TABLE_SCHEMA = {schema_text} AND t.TABLE_NAME = {table_text})
           > (SELECT next_not_cached_value FROM {order_sequence})
       {else}
       0
       {end}
