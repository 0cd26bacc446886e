-- use: figures keys_locked_by if keyed
-- section: who locks the keys
-- without: {"keys_locked_by": null}
-- Whether the order trigger locks the key of each row, or the application must.
SELECT jsonb_build_object('keys_locked_by',
                          CASE WHEN coalesce(bool_or(holds), false) THEN 'trigger' ELSE 'application' END)
FROM ({order_keeper}) keeper
