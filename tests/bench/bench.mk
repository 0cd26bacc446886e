# The benchmarks: included by tests/tests.mk. Their programs, and what they print, are in tests/bench.

.PHONY: bench bench-size bench-large bench-slow bench-keep bench-check bench-poison bench-order
.PHONY: bench-horizon bench-wakeup bench-sizing bench-ready

# PostgreSQL as a database of this size would have it: with its default buffers a large backlog measures the disk, and
# with the tests' autovacuum_naptime of 5 s the vacuums of 10,000,000 rows cost as much as half of their claims. What
# tests/bench/warm.py fills of the WAL is kept and used again: a new segment stops all commits until it is made.
bench bench-size bench-large bench-slow: export TEST_PG_OPTIONS ?= \
	shared_buffers=4GB;min_wal_size=4GB;max_wal_size=8GB;autovacuum_naptime=1min
# A Kafka topic of 12 partitions has 24 index files of 10 MB that the first message of each reads ahead (8 MiB with some
# disks: 200 MB of zeros a cell, in the cell's time), and is removed a minute later, while another one is measured.
bench bench-large bench-slow: export TEST_KAFKA_OPTIONS ?= \
	log.index.size.max.bytes=1048576;log.segment.delete.delay.ms=100

bench-ready:
	@tests/support/deps --bench
	@$(MAKE) --no-print-directory all build/reader $(BENCH)

bench: bench-ready ## the relay against its two ends, latency, CPU, memory, a profile: ROUNDS= ROWS= ONLY= BROKER= ADD=1
	@tests/bench/figures_test
	@tests/support/services run -- tests/bench/bench $(if $(ADD),--add) $(call options,ONLY BROKER ROUNDS ROWS)

bench-size: bench-ready ## the same for 100,000 to 10,000,000 rows, and beside a held snapshot: SIZES= ROUNDS=
	@tests/support/services run --only postgres,nats -- tests/bench/bench --add --broker nats --only size,horizon \
		$(call options,ROUNDS SIZES)

bench-keep: ## what `make bench` found becomes tests/bench/RESULTS.md and docs/benchmarks.svg
	@tests/support/deps --plot
	@tests/bench/keep
	@tests/bench/plot

bench-poison: all build/reader ## 100 kinds of poison rows among good ones, against a clean run
	@tests/support/services run -- tests/bench/poison $(or $(ROWS),100000)

bench-check: bench-ready ## instructions a message on each path, against the recorded ones (valgrind)
	@$(MAKE) --no-print-directory build/check_slower.so
	@tests/support/services run --only postgres -- tests/bench/check_test > $(BUILD)/check_test.log || \
		{ cat $(BUILD)/check_test.log; exit 1; }
	@tests/support/services run -- tests/bench/check

bench-large: bench-ready ## payloads of 100 KiB and 1 MiB, against disk, broker and PostgreSQL; memory: ROUNDS= BROKER=
	@tests/support/services run -- tests/bench/bench --add --only large --rounds 2 $(call options,BROKER ROUNDS)

bench-slow: bench-ready ## a broker at a round trip of 50 ms, by lanes and batch: ROUNDS= BROKER=
	@tests/support/services run -- tests/bench/bench --add --only slow --rounds 2 $(call options,BROKER ROUNDS)

bench-wakeup: all build/reader ## latency, an idle relay and pgbench, with NOTIFY and without
	@tests/support/services run --only postgres,nats -- tests/bench/wakeup

bench-sizing: all build/reader ## memory and connections by lanes, batch and payload; WAL an event: BROKER= LANES=
	@tests/support/services run -- tests/bench/sizing $(call options,BROKER LANES)

bench-order: all build/reader ## order = "key" against "none", by lanes, relays and keys: ROWS=60000 BROKER=kafka
	@tests/support/services run -- tests/bench/order $(addprefix --rows ,$(ROWS)) $(addprefix --broker ,$(BROKER))

bench-horizon: all build/reader ## a backlog drained beside a long transaction: HOLD=reader,writer,outbox or all, ON_SENT= ORDER= SINK= ..., START=1
	@tests/support/services run --only postgres$(if $(filter nats,$(SINK)),$(comma)nats) -- tests/bench/horizon \
		$(if $(START),--start) $(call options,HOLD ROWS ROUNDS LANES ON_SENT ORDER SINK)

# ---- what they are built of ----------------------------------------------------------------------

# What `make bench` measures the relay against: claim and settle alone, by the relay's own objects
# beside a broker that takes no time.
UNBROKERED := broker_send broker_await broker_keeps_order broker_end

build/bench_claim: $(BUILD)/obj/tests/bench/null_broker.o $(BUILD)/obj/main.c.o $(LIBRARY)
	$(say) LINK $@
	@$(CXX) $(LDFLAGS) $(addprefix -Wl$(comma)--wrap=,$(UNBROKERED)) -o $@ $^ $(LDLIBS)

# A relay that costs more than was recorded, for `make bench-check` to notice.
build/check_slower.so: tests/bench/check_slower.c
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CC) -D_GNU_SOURCE $(filter-out -fPIE,$(CFLAGS)) -fPIC -shared -o $@ $< $(call pkg,--cflags,libpq) -ldl

# A link with a long way, for `make bench-slow`.
build/bench_delay: tests/bench/delay.c
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CC) -D_GNU_SOURCE $(CFLAGS) $(LDFLAGS) -o $@ $<

# And the other programs of the benchmarks: none knows the relay's code.
BENCH := build/bench_claim build/bench_publish build/bench_count build/bench_flow build/bench_delay

build/bench_publish build/bench_count build/bench_flow: build/bench_%: tests/bench/%.c tests/bench/consume.c \
		tests/bench/consume.h
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CC) -D_GNU_SOURCE $(call pkg,--cflags,libpq) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) \
		$(call pkg,--cflags --libs,libpq rdkafka libnats)
