-- How many rows of the outbox were ever settled, by PostgreSQL's statistics, and the time.
SELECT (SELECT {settled_tuples} FROM pg_catalog.pg_stat_user_tables WHERE relid = {oid_of:outbox}),
       extract(epoch FROM clock_timestamp())
