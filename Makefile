# outbox-relay. `make help` lists what there is to type.
#
# CC and CXX choose the compiler; SANITIZE=address,undefined or thread builds into a folder of its own.

CC       ?= cc
CXX      ?= c++
SANITIZE ?=
comma    := ,
VERSION  := 0.1.0
BUILD    := build$(if $(SANITIZE),/$(firstword $(subst $(comma), ,$(SANITIZE))))
PREFIX   ?= /usr/local

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := $(if $(findstring clang,$(CC)),$(subst clang,clang++,$(CC)),g++)
endif

PACKAGES   := libpq rdkafka libnats jansson
TEST_ONLY  := cmocka
pkg         = $(shell pkg-config $(1) $(2) 2>/dev/null)

WARNINGS   := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wformat=2 -Wno-format-nonliteral -Wundef -Werror
HARDENING  := -fstack-protector-strong -fstack-clash-protection -fPIE $(if $(SANITIZE),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(if $(findstring clang,$(CC)),2,3))
ifeq ($(shell uname -m),x86_64)
HARDENING  += -fcf-protection
endif
OPTIMISE   := $(if $(SANITIZE),-O1 -fno-omit-frame-pointer -fsanitize=$(SANITIZE) -fno-sanitize-recover=all,-O2) -g
CPPFLAGS   += -D_GNU_SOURCE -DRELAY_VERSION='"$(VERSION)"' -Isrc -I$(BUILD)/gen
CFLAGS     += -std=c17 $(WARNINGS) $(HARDENING) $(OPTIMISE) -pthread
CXXFLAGS   += -std=c++17 $(WARNINGS) $(HARDENING) $(OPTIMISE) -fno-exceptions -fno-rtti
LDFLAGS    += -pie -Wl,-z,relro,-z,now,-z,noexecstack $(if $(SANITIZE),-fsanitize=$(SANITIZE)) -pthread
LDLIBS      = $(call pkg,--libs,$(PACKAGES))
# Eighty test programs with all their lines for a debugger: gold links them in a quarter of the time (and warns of
# what clang's sanitizers export).
TEST_LINK  := $(if $(findstring clang,$(CC)),,$(if $(shell command -v ld.gold 2>/dev/null),-fuse-ld=gold))

SOURCES    := $(filter-out src/main.c,$(wildcard src/*/*.c)) $(wildcard src/*/*.cpp)
OBJECTS    := $(patsubst src/%,$(BUILD)/obj/%.o,$(SOURCES)) $(BUILD)/obj/sample.o $(BUILD)/obj/schema.o
LIBRARY    := $(BUILD)/librelay.a
BINARY     := $(BUILD)/outbox-relay

UNIT        := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/*/test_*.c))
INTEGRATION := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/integration/test_*.c))
HARNESS     := $(patsubst tests/%.c,$(BUILD)/obj/tests/%.o,$(wildcard tests/integration/harness*.c))
SUPPORT     := build/reader build/mock_kafka build/hanging.so

say = @printf '  %-5s %s\n'

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all demo chaos chaos-short faults mutants test test-unit test-integration test-audit test-crash lint asan tsan valgrind fuzz
.PHONY: bench bench-size bench-full bench-check bench-large bench-slow bench-plot bench-keep bench-drain bench-poison bench-order bench-horizon bench-wakeup services install deps readme clean help

all: $(BINARY) ## build build/outbox-relay

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

deps: ## install what is missing (Debian, Ubuntu); elsewhere: name it
	@tests/support/deps

# ---- the program ---------------------------------------------------------------------------------

$(BINARY): $(BUILD)/obj/main.c.o $(LIBRARY)
	$(say) LINK $@
	@$(CXX) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIBRARY): $(OBJECTS)
	@rm -f $@
	@$(AR) rcs $@ $(OBJECTS)

$(BUILD)/obj/%.c.o: src/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CC) $(CPPFLAGS) $(call pkg,--cflags,$(PACKAGES)) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/obj/%.cpp.o: src/%.cpp
	@mkdir -p $(@D)
	$(say) CXX $@
	@$(CXX) $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -c -o $@ $<

# A file of config/ as an array of bytes.
embed = { printf 'extern const char $(1)[];\nconst char $(1)[] = {\n'; od -An -v -tu1 $(2) | \
	sed 's/\([0-9][0-9]*\)/\1,/g'; printf '0};\n'; }

$(BUILD)/gen/sample.c: config/relay.toml Makefile
	@mkdir -p $(@D)
	@$(call embed,sample_toml,$<) > $@

$(BUILD)/gen/schema.c: config/schema.sql Makefile
	@mkdir -p $(@D)
	@$(call embed,schema_sql_text,$<) > $@

$(BUILD)/obj/%.o: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CC) $(CFLAGS) -c -o $@ $<

install: all ## install the program and the sample configuration under $(PREFIX)
	install -D -m 755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/outbox-relay
	install -D -m 644 config/relay.toml $(DESTDIR)$(PREFIX)/share/doc/outbox-relay/relay.toml

# ---- tests ---------------------------------------------------------------------------------------

# cmocka 2 calls assert_in_range deprecated, and cmocka 1 has no other.
$(BUILD)/obj/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CC) $(CPPFLAGS) -DCMOCKA_DISABLE_DEPRECATION_WARNINGS -Itests $(call pkg,--cflags,$(PACKAGES) $(TEST_ONLY)) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(LIBRARY)
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CXX) $(TEST_LINK) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(call pkg,--libs,$(TEST_ONLY))

$(BUILD)/tests/integration/%: $(BUILD)/obj/tests/integration/%.o $(HARNESS) $(LIBRARY)
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CXX) $(TEST_LINK) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(call pkg,--libs,$(TEST_ONLY))

# Counts the calls that set a header.
$(BUILD)/tests/integration/test_nats_headers: private LDFLAGS += -Wl,--wrap=natsMsgHeader_Set

build/reader: $(wildcard tests/support/reader*.c tests/support/reader*.h)
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CC) -D_GNU_SOURCE $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) $(call pkg,--cflags --libs,rdkafka libnats)

build/mock_kafka: tests/support/mock_kafka.c
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CC) -D_GNU_SOURCE $(CFLAGS) $(LDFLAGS) -o $@ $< $(call pkg,--cflags --libs,rdkafka)

# Name lookups that hang, by LD_PRELOAD, and a plugin of librdkafka that does.
build/hanging.so: tests/support/hanging.c
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CC) -D_GNU_SOURCE -std=c17 $(WARNINGS) -O2 -fPIC -shared -o $@ $< -ldl

# Faults at exact points of the unmodified program, by LD_PRELOAD.
build/crash.so: tests/chaos/crash.c
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CC) -D_GNU_SOURCE $(filter-out -fPIE,$(CFLAGS)) -fPIC -shared -o $@ $< \
		$(call pkg,--cflags --libs,libpq rdkafka libnats) -ldl

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

# Relays that break a promise, for the audit to notice: the relay's own objects, some calls diverted.
WRAPPED := broker_send broker_await outbox_claim outbox_settle order_is_due order_is_held natsMsgHeader_Set \
	natsOptions_SetAllowReconnect

build/mutant: $(BUILD)/obj/tests/chaos/mutants.o $(BUILD)/obj/main.c.o $(LIBRARY)
	$(say) LINK $@
	@$(CXX) $(LDFLAGS) $(addprefix -Wl$(comma)--wrap=,$(WRAPPED)) -o $@ $^ $(LDLIBS)

# What `make bench` measures the relay against: claim and settle alone, by the relay's own objects
# beside a broker that takes no time.
UNBROKERED := broker_send broker_await broker_keeps_order broker_end

build/bench_claim: $(BUILD)/obj/tests/bench/null_broker.o $(BUILD)/obj/main.c.o $(LIBRARY)
	$(say) LINK $@
	@$(CXX) $(LDFLAGS) $(addprefix -Wl$(comma)--wrap=,$(UNBROKERED)) -o $@ $^ $(LDLIBS)

# And the other programs of the benchmarks: none knows the relay's code.
BENCH := build/bench_claim build/bench_publish build/bench_count build/bench_flow build/bench_delay

build/bench_publish build/bench_count build/bench_flow: build/bench_%: tests/bench/%.c tests/bench/consume.c \
		tests/bench/consume.h
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CC) -D_GNU_SOURCE $(call pkg,--cflags,libpq) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) \
		$(call pkg,--cflags --libs,libpq rdkafka libnats)

JOBS := $(shell nproc)

.PHONY: built
built: $(UNIT) $(INTEGRATION) $(BINARY) $(SUPPORT)

test: deps ## unit and integration tests, against real servers
	@$(MAKE) --no-print-directory -j$(JOBS) built
	@$(MAKE) --no-print-directory test-unit test-integration test-audit

# The audits of the demo and of the chaos run must catch what is planted; the arithmetic of bench; the tests' servers.
test-audit: $(BINARY)
	@tests/demo/audit_test
	@tests/chaos/audit_test
	@tests/bench/figures_test
	@tests/support/services_test
	@tests/docs/links_test && RELAY=$(BINARY) tests/support/services run -- tests/docs/commands_test

test-unit: $(UNIT)
	@tests/support/run_tests $(UNIT)

# Three sets of servers at the same time: most tests wait for something.
test-integration: $(INTEGRATION) $(BINARY) $(SUPPORT)
	@$(MAKE) --no-print-directory -j3 --output-sync=target test-with-kafka test-programs test-without-kafka

.PHONY: test-with-kafka test-programs test-without-kafka
WITH_KAFKA := $(filter $(BUILD)/tests/integration/test_kafka% %/test_delivery,$(INTEGRATION))
PROGRAMS := $(filter $(BUILD)/tests/integration/test_program%,$(INTEGRATION))

# To a broker that lives for minutes Java's optimizing compiler costs more than it gives.
test-with-kafka demo chaos-short: export TEST_KAFKA_JAVA ?= -XX:TieredStopAtLevel=1

test-with-kafka:
	@RELAY=$(BINARY) tests/support/services run -- tests/support/run_tests $(WITH_KAFKA)

test-programs:
	@RELAY=$(BINARY) tests/support/services run --only postgres,nats -- tests/support/run_tests $(PROGRAMS)

test-without-kafka:
	@RELAY=$(BINARY) tests/support/services run --only postgres,nats -- tests/support/run_tests \
		$(filter-out $(WITH_KAFKA) $(PROGRAMS),$(INTEGRATION))

# With TEST_FILTER=nats only those of NATS.
.PHONY: test-no-kafka test-debian
test-no-kafka: $(INTEGRATION) $(BINARY) $(SUPPORT)
	@RELAY=$(BINARY) tests/support/services run --only postgres,nats -- tests/support/run_tests \
		$(filter-out $(WITH_KAFKA),$(INTEGRATION))

test-debian: ## built and tested in another Debian, as root: RELEASE=trixie|forky ONLY=nats
	@tests/support/deps --debian
	@SANITIZE=$(SANITIZE) tests/support/debian "$(RELEASE)" $(ONLY)

test-crash: $(BINARY) build/reader build/crash.so ## a relay killed, stopped and cut off at every point of its cycle
	@RELAY=$(BINARY) tests/chaos/crash_test

asan: ## the same tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory SANITIZE=address,undefined -j$(JOBS) built
	@$(MAKE) --no-print-directory SANITIZE=address,undefined test-unit test-integration

tsan: ## unit and NATS tests under ThreadSanitizer
	@$(MAKE) --no-print-directory SANITIZE=thread -j$(JOBS) tsan-run

.PHONY: tsan-run
tsan-run: $(UNIT) $(filter %/test_sinks,$(INTEGRATION)) $(filter $(BUILD)/tests/integration/test_nats%,$(INTEGRATION))
	@TSAN_OPTIONS="suppressions=$(CURDIR)/tests/support/tsan.supp" tests/support/run_tests $(UNIT)
	@TSAN_OPTIONS="suppressions=$(CURDIR)/tests/support/tsan.supp" \
		tests/support/services run --only nats -- tests/support/run_tests \
		$(filter $(BUILD)/tests/integration/%,$^)

valgrind: $(UNIT) ## unit tests under valgrind
	@WRAP="valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite" \
		tests/support/run_tests $(UNIT)

lint: $(BINARY) ## include directions, banned calls, length of lines, hardening
	@python3 tests/support/lint.py
	@tests/chaos/faults --matrix
	@readelf -hdl $(BINARY) > $(BUILD)/elf.txt; for want in 'DYN (Position-Independent' BIND_NOW GNU_RELRO; do \
		grep -q "$$want" $(BUILD)/elf.txt || { echo "$(BINARY): no $$want"; exit 1; }; done
	@nm -D $(BINARY) | grep -q __stack_chk_fail || { echo "$(BINARY): no stack protector"; exit 1; }

# ---- seeing it work ------------------------------------------------------------------------------

demo: deps ## real transactions -> outbox -> relays -> NATS and Kafka, audited
	@$(MAKE) --no-print-directory all $(SUPPORT)
	@tests/support/services run -- tests/demo/demo

# Each option of `make chaos` is one of tests/chaos/chaos: BROKER=nats is --broker nats.
CHAOS_OPTIONS = $(foreach option,SEED MINUTES FAULTS_A_MINUTE BROKER RELAYS EVENTS KEYS ORDER,$(if $($(option)),--$(shell \
	echo $(option) | tr A-Z_ a-z-) $($(option)))) $(if $(CHURN),--churn) \
	$(if $(EXPECT_DISORDER),--expect-disorder)
CHAOS_NEEDS   = all build/reader build/crash.so

chaos: deps ## relays and servers killed, cut off and starved under load, and every event audited: SEED= MINUTES= BROKER= ...
	@$(MAKE) --no-print-directory $(CHAOS_NEEDS)
	@tests/support/services run -- tests/chaos/chaos $(CHAOS_OPTIONS)

chaos-short: SEED ?= 1
chaos-short: deps ## the same in three minutes: each kill point and the connection faults
	@$(MAKE) --no-print-directory $(CHAOS_NEEDS)
	@tests/support/services run -- tests/chaos/chaos --profile short $(CHAOS_OPTIONS)

faults: deps ## each fault of tests/chaos/MATRIX.md: ONLY=20
	@$(MAKE) --no-print-directory all build/reader
	@tests/chaos/proxy_test
	@tests/support/services run --only postgres,nats -- tests/chaos/faults $(addprefix --only ,$(ONLY))

mutants: deps ## relays that are broken on purpose: the audit must catch each
	@$(MAKE) --no-print-directory $(CHAOS_NEEDS) build/mutant
	@tests/chaos/mutants

services: deps build/reader ## PostgreSQL, nats-server and Kafka to play with, until Ctrl-C
	@tests/support/services up

# Each option of `make bench` is one of tests/bench/bench: ONLY=relay,ends is --only relay,ends.
bench_options = $(foreach option,$(1),$(if $($(option)),--$(shell echo $(option) | tr A-Z_ a-z-) $($(option))))

# PostgreSQL as a database of this size would have it: with its default buffers a large backlog measures the disk, and
# with the tests' autovacuum_naptime of 5 s the vacuums of 10,000,000 rows cost as much as half of their claims. What
# tests/bench/warm.py fills of the WAL is kept and used again: a new segment stops all commits until it is made.
bench bench-size bench-full bench-large bench-slow: export TEST_PG_OPTIONS ?= \
	shared_buffers=4GB;min_wal_size=4GB;max_wal_size=8GB;autovacuum_naptime=1min
# A Kafka topic of 12 partitions has 24 index files of 10 MB that the first message of each reads ahead (8 MiB with some
# disks: 200 MB of zeros a cell, in the cell's time), and is removed a minute later, while another one is measured.
bench bench-full bench-large bench-slow: export TEST_KAFKA_OPTIONS ?= \
	log.index.size.max.bytes=1048576;log.segment.delete.delay.ms=100

.PHONY: deps-bench
deps-bench:
	@tests/support/deps --bench

bench: deps-bench ## the relay against its two ends, latency, CPU, memory, a profile: ROUNDS= ROWS= ONLY= BROKER= ADD=1
	@$(MAKE) --no-print-directory all $(SUPPORT) $(BENCH)
	@tests/bench/figures_test
	@tests/support/services run -- tests/bench/bench $(if $(ADD),--add) $(call bench_options,ONLY BROKER ROUNDS ROWS)

bench-size: deps-bench ## the same for 100,000 to 10,000,000 rows, and beside a held snapshot: SIZES= ROUNDS=
	@$(MAKE) --no-print-directory all $(SUPPORT) $(BENCH)
	@tests/support/services run --only postgres,nats -- tests/bench/bench --add --broker nats --only size,horizon \
		$(call bench_options,ROUNDS SIZES)

bench-full: deps-bench ## all combinations of the factors, for hours, then bench-size: ROWS= BROKER=; ADD=1 goes on
	@$(MAKE) --no-print-directory all $(SUPPORT) $(BENCH)
	@tests/support/services run -- tests/bench/bench --full --rounds 1 $(if $(ADD),--add) \
		$(call bench_options,ONLY BROKER ROUNDS ROWS)
	@$(MAKE) --no-print-directory bench-size

bench-plot: ## draw tests/bench/results.svg from what `make bench` found, or from what is kept of it
	@tests/support/deps --plot
	@tests/bench/plot

bench-keep: ## what `make bench` found becomes tests/bench/RESULTS.md and results.json
	@tests/bench/keep

bench-drain: all $(SUPPORT) ## drain a backlog to each broker: ROWS=1000000
	@tests/support/services run -- tests/bench/drain $(or $(ROWS),1000000)

bench-poison: all $(SUPPORT) ## 100 kinds of poison rows among good ones, against a clean run
	@tests/support/services run -- tests/bench/poison $(or $(ROWS),100000)

bench-check: deps-bench ## instructions a message on each path, against the recorded ones (valgrind)
	@$(MAKE) --no-print-directory all $(SUPPORT) build/check_slower.so
	@tests/support/services run --only postgres -- tests/bench/check_test > $(BUILD)/check_test.log || \
		{ cat $(BUILD)/check_test.log; exit 1; }
	@tests/support/services run -- tests/bench/check

bench-large: deps-bench ## payloads of 100 KiB and 1 MiB, against disk, broker and PostgreSQL; memory: ROUNDS= BROKER=
	@$(MAKE) --no-print-directory all $(SUPPORT) $(BENCH)
	@tests/support/services run -- tests/bench/bench --add --only large --rounds 2 $(call bench_options,BROKER ROUNDS)

bench-slow: deps-bench ## a broker at a round trip of 50 ms, by lanes and batch: ROUNDS= BROKER=
	@$(MAKE) --no-print-directory all $(SUPPORT) $(BENCH)
	@tests/support/services run -- tests/bench/bench --add --only slow --rounds 2 $(call bench_options,BROKER ROUNDS)

bench-wakeup: all $(SUPPORT) ## latency, an idle relay and pgbench, with NOTIFY and without
	@tests/support/services run --only postgres,nats -- tests/bench/wakeup

bench-order: all $(SUPPORT) ## order = "key" against "none", by lanes, relays and keys: ROWS=60000 BROKER=kafka
	@tests/support/services run -- tests/bench/order $(addprefix --rows ,$(ROWS)) $(addprefix --broker ,$(BROKER))

bench-horizon: all $(SUPPORT) ## a backlog drained beside a long transaction: HOLD=reader,writer,outbox or all, ON_SENT= ORDER= SINK= ..., START=1
	@tests/support/services run --only postgres$(if $(filter nats,$(SINK)),$(comma)nats) -- tests/bench/horizon \
		$(if $(START),--start) $(call bench_options,HOLD ROWS ROUNDS LANES ON_SENT ORDER SINK)

FUZZ_CC      ?= $(shell for cc in clang clang-19 clang-16 clang-14; do command -v $$cc && break; done)
FUZZERS      := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
SECONDS_EACH ?= 60

fuzz: ## each fuzzer for SECONDS_EACH=60 (clang and its libFuzzer)
	@test -n "$(FUZZ_CC)" || { echo 'missing, by their Debian names: clang-14 libclang-rt-14-dev'; exit 1; }
	@$(MAKE) --no-print-directory CC=$(FUZZ_CC) CXX=$(subst clang,clang++,$(FUZZ_CC)) \
		SANITIZE=fuzzer-no-link,address,undefined fuzz-run

fuzz-nats: deps ## the program beside a NATS server that means it ill, under the sanitizers: SECONDS_EACH=60 SEED=
	@$(MAKE) --no-print-directory SANITIZE=address,undefined build/address/outbox-relay
	@RELAY=build/address/outbox-relay tests/support/services run --only postgres -- \
		tests/fuzz/hostile_nats --seconds $(SECONDS_EACH) $(addprefix --seed ,$(SEED))

.PHONY: fuzz-run fuzz-nats
fuzz-run: $(FUZZERS)
	@for fuzzer in $^; do echo "== $$fuzzer"; mkdir -p $(BUILD)/corpus/$${fuzzer##*/}; \
		$$fuzzer -max_total_time=$(SECONDS_EACH) -print_final_stats=1 -verbosity=0 \
		-artifact_prefix=$(BUILD)/ $(BUILD)/corpus/$${fuzzer##*/} || exit 1; done

$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(LIBRARY)
	@mkdir -p $(@D)
	$(say) LINK $@
	@$(CXX) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

$(BUILD)/reference: $(BUILD)/obj/tests/support/reference.o $(LIBRARY)
	@$(CXX) $(LDFLAGS) -o $@ $^ $(LDLIBS)

readme: $(BUILD)/reference ## write the key reference into docs/configuration.md
	@$(BUILD)/reference > $(BUILD)/reference.md
	@awk -v part=$(BUILD)/reference.md '/^<!-- end of keys/ {inside = 0} !inside {print} \
		/^<!-- keys/ {inside = 1; while ((getline line < part) > 0) print line}' docs/configuration.md > $(BUILD)/configuration.md
	@cp $(BUILD)/configuration.md docs/configuration.md

clean: ## remove build/
	rm -rf build

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
