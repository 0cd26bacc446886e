-- use: desk own_partition if partitioned
-- Before a partition is made, whose owner is that of the outbox. Who inserts into the default partition waits while it
-- is looked through, no longer than this.
SELECT set_config('lock_timeout', '{drop_ms}', true), set_config('statement_timeout', '{attach_ms}', true),
       set_config('role', pg_get_userbyid(relowner), true)
FROM pg_catalog.pg_class WHERE oid = {outbox_oid}
