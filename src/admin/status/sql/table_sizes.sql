-- use: storage table_sizes
-- section: the sizes of the tables
-- without: {"table_bytes": null, "index_bytes": null, "parked_table_bytes": null, "dead_tuples": null}
-- The dead tuples of the outbox by PostgreSQL's statistics, its size with its indexes, that of the indexes, and the
-- size of the parked table with its indexes.
SELECT jsonb_build_object(
    {if partitioned}
    'dead_tuples', (SELECT sum(n_dead_tup) FROM pg_catalog.pg_stat_user_tables
                    WHERE relid IN (SELECT oid FROM {partitions})),
    'table_bytes', (SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM {partitions}),
    'index_bytes', (SELECT coalesce(sum(pg_indexes_size(oid)), 0) FROM {partitions}),
    {else}
    'dead_tuples', (SELECT n_dead_tup FROM pg_catalog.pg_stat_user_tables WHERE relid = to_regclass({outbox_text})),
    'table_bytes', pg_total_relation_size(to_regclass({outbox_text})),
    'index_bytes', pg_indexes_size(to_regclass({outbox_text})),
    {end}
    'parked_table_bytes', pg_total_relation_size(to_regclass({parked_text})))
