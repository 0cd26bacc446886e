-- use: desk table_sizes
-- The dead tuples of the outbox by PostgreSQL's statistics, its size with its indexes, that of the indexes, and the
-- size of the parked table with its indexes.
SELECT (SELECT n_dead_tup FROM pg_catalog.pg_stat_user_tables WHERE relid = to_regclass({outbox_text})),
       pg_total_relation_size(to_regclass({outbox_text})),
       pg_indexes_size(to_regclass({outbox_text})),
       pg_total_relation_size(to_regclass({parked_text}))
