-- use: desk settled
-- How many rows of the outbox were ever settled, by PostgreSQL's statistics, and the time.
SELECT (SELECT {if marking}n_tup_upd{else}n_tup_del{end}
        FROM pg_catalog.pg_stat_user_tables
        WHERE relid = to_regclass({outbox_text})),
       extract(epoch FROM clock_timestamp())
