# The comparison with other programs: included by tests/tests.mk. What it measures and prints is in tests/compare.

.PHONY: compare

# As for `make bench`; and logical decoding for all, since one of them needs it.
compare: export TEST_PG_OPTIONS ?= \
	wal_level=logical;shared_buffers=4GB;min_wal_size=4GB;max_wal_size=8GB;autovacuum_naptime=1min
compare: export TEST_KAFKA_OPTIONS ?= log.index.size.max.bytes=1048576;log.segment.delete.delay.ms=100

# All have the binary log that one of them reads.
compare: export TEST_MARIADB_OPTIONS ?= log-bin=binlog;server-id=1;binlog_format=ROW;sync_binlog=1;innodb_buffer_pool_size=4G;innodb_log_file_size=2G
compare: export DATABASE := $(or $(DATABASE),postgres)

compare: deps ## beside Debezium Server, in turns, audited, as a table: DATABASE=mariadb SINK=kafka PEERS=ours,debezium ROUNDS= EVENTS=
	@$(MAKE) --no-print-directory all build/reader build/bench_flow build/bench_count build/bench_publish
	@tests/compare/table_test
	@tests/support/services run --only $(DATABASE),nats,kafka -- tests/compare/compare $(call options,SINK PEERS ROUNDS EVENTS)
