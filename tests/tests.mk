# The tests, what they are built of, and what is generated: included by the root Makefile. `make help-tests` lists the
# targets.

# Test programs have all their lines for a debugger: gold links them in a quarter of the time (and warns of what clang's
# sanitizers export).
TEST_LINK := $(if $(findstring clang,$(CC)),,$(if $(shell command -v ld.gold 2>/dev/null),-fuse-ld=gold))

UNIT        := $(BUILD)/tests/unit_tests
UNIT_FILES  := $(patsubst tests/%.c,$(BUILD)/obj/tests/%.o,$(wildcard tests/unit/*/test_*.c tests/unit/*/*/test_*.c))
INTEGRATION := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/integration/test_*.c))
# These mostly wait for restarts, deadlines and servers of their own, or are PostgreSQL's work: what the relay does in
# them, it does in others too. `make asan ONCE=` leaves none out.
ONCE := kafka_faults kafka_forgets kafka_presets key_order outbox_order outbox_waiting program_clusters program_connecting \
	program_conventions program_evidence program_hanging program_horizon program_hosts program_ids program_introspect \
	program_kafka_tls program_language program_leaks program_locks program_names program_notify \
	program_order_trigger program_own_table program_pause program_pgbouncer program_postgres_tls \
	program_progress program_refused program_replay program_retry program_rights program_schema program_search_path \
	program_secrets program_shape program_slices program_supervised program_table program_unreadable \
	program_upgrade program_values statement_names statements
ifneq ($(filter address%,$(SANITIZE)),)
INTEGRATION := $(filter-out $(foreach name,$(ONCE),%/test_$(name)),$(INTEGRATION))
endif
# The longest first, so that none of them is left alone at the end.
LONG        := $(foreach name,kafka_forgets program_kafka_tls program_hanging program_order_trigger program_nats_hostile \
	program_values program_ids program_audit program_park delivery kafka_faults program_unreadable kafka_presets \
	kafka_positions program_horizon key_order program_progress program_nats_tls program_hosts program_table \
	program_refused statement_names outbox_order program_second program_clusters program_evidence program_floods \
	program_rights program_postgres_tls,$(BUILD)/tests/integration/test_$(name))
ORDERED     := $(filter $(INTEGRATION),$(LONG)) $(filter-out $(LONG),$(INTEGRATION))
HARNESS     := $(patsubst tests/%.c,$(BUILD)/obj/tests/%.o,$(wildcard tests/main.c tests/integration/harness*.c))
SUPPORT     := build/reader build/hanging.so
DB_TESTS    := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/integration/mysql/test_*.c))
# For tests of what servers before 2.12.1 do not have.
NEW_NATS    := build/matrix/nats-2.15.2/nats-server

.PHONY: help-tests built kafka-jars test-unit test-integration test-mysql test-no-kafka
.PHONY: audit-faults audit-tools audit-pages test-debian test-page compose-test asan tsan tsan-run valgrind services readme

# What is set of these names, as options of a program: BROKER=nats is --broker nats.
options = $(foreach name,$(1),$(if $($(name)),--$(shell echo $(name) | tr A-Z_ a-z-) $($(name))))

help-tests: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(filter %.mk,$(MAKEFILE_LIST)) | expand -t 24

built: $(UNIT) $(INTEGRATION) $(BINARY) $(SUPPORT) $(if $(HAS_MYSQL),$(DB_TESTS)) $(if $(SANITIZE),,build/mutant) ## every test program, and the broken relays of make mutants

test-unit: $(UNIT) ## TEST_FILTER=toml: only the files whose path holds it
	@timeout 300 $(UNIT)

$(NEW_NATS):
	@tests/support/new_nats $@

test-integration: $(INTEGRATION) $(BINARY) $(SUPPORT) $(NEW_NATS) ## against PostgreSQL, nats-server and Kafka: TEST_FILTER=nats TEST_SETS=8
	@RELAY=$(BINARY) tests/support/run_sets $(ORDERED)

# To a broker that lives for minutes Java's optimizing compiler costs more than it gives.
test-integration audit-pages demo chaos-short: export TEST_KAFKA_JAVA ?= -XX:TieredStopAtLevel=1

# They mostly wait, and so run beside the integration tests; what they say is shown when they fail.
shown_if_it_fails = > $(BUILD)/$@.log 2>&1 || { cat $(BUILD)/$@.log; echo "$@: FAILED, see $(BUILD)/$@.log"; exit 1; }; \
	grep -i skipped $(BUILD)/$@.log; echo "$@: passed"

audit-faults: ## the auditor of chaos catches planted bugs
	@mkdir -p $(BUILD)
	@tests/chaos/audit_test $(shown_if_it_fails)

audit-tools: $(BINARY) ## the arithmetic of bench and compare; the servers of the tests; what releases hold and how they are signed
	@mkdir -p $(BUILD)
	@{ tests/bench/figures_test && tests/compare/table_test && \
		tests/support/services_test && tests/support/run_tests_test && tests/support/statements_test && tests/support/install_test && \
		tests/package/version check && tests/package/dist_test && tests/package/sbom_test && \
		tests/package/signing_test; } $(shown_if_it_fails)

audit-pages: $(BINARY) build/reader ## the pages' commands and links; the dashboard; CloudEvents; lost messages
	@{ RELAY=$(BINARY) tests/support/services run --only postgres,nats -- tests/monitoring/monitoring_test && \
		tests/docs/links_test && RELAY=$(BINARY) tests/support/services run -- \
		sh -c 'tests/docs/commands_test && tests/cloudevents/cloudevents_test && tests/runbook/runbook_test'; } \
		$(shown_if_it_fails)

test-no-kafka: $(INTEGRATION) $(BINARY) $(SUPPORT) $(NEW_NATS) ## all that need neither Kafka nor Java
	@RELAY=$(BINARY) tests/support/services run --only postgres,nats -- tests/support/run_tests \
		$(filter-out %/test_delivery %/test_program_kafka_tls $(BUILD)/tests/integration/test_kafka%,$(INTEGRATION))

test-page: $(BINARY) ## the status page in Chromium; pictures of it are left in build/tests/
	@tests/support/deps --page
	@RELAY=$(BINARY) tests/support/services run --only postgres,nats -- tests/monitoring/page_test

test-debian: ## built and tested in another Debian, as root: RELEASE=bookworm|trixie|forky ONLY=nats
	@tests/support/deps --debian
	@SANITIZE=$(SANITIZE) tests/support/debian "$(RELEASE)" $(ONLY)

compose-test: ## docker-compose.yml on a container engine: its page, mistakes, 10,000 events under faults, audited: ONLY=page|input|nats|kafka
	@tests/compose/compose_test $(ONLY)

# As without them, a request for more memory than there is fails.
asan: export ASAN_OPTIONS := allocator_may_return_null=1
asan: ## unit and integration tests under AddressSanitizer and UndefinedBehaviorSanitizer: ONCE= for all of them
	@$(MAKE) --no-print-directory SANITIZE=address,undefined -j$(shell nproc) built
	@$(MAKE) --no-print-directory SANITIZE=address,undefined test-unit test-integration

tsan: ## unit and NATS tests, and a relay that serves, under ThreadSanitizer
	@$(MAKE) --no-print-directory SANITIZE=thread -j$(shell nproc) tsan-run

tsan-run: export TSAN_OPTIONS := suppressions=$(CURDIR)/tests/support/tsan.supp:allocator_may_return_null=1
tsan-run: $(UNIT) $(BINARY) $(NEW_NATS) $(filter %/test_sinks %/test_program_races,$(INTEGRATION)) $(filter $(BUILD)/tests/integration/test_nats%,$(INTEGRATION))
	@timeout 600 $(UNIT)
	@RELAY=$(BINARY) tests/support/run_sets $(filter $(BUILD)/tests/integration/%,$^)

valgrind: $(UNIT) ## unit tests under valgrind
	@valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite $(UNIT)

services: deps build/reader ## PostgreSQL, nats-server and Kafka to play with, until Ctrl-C
	@tests/support/services up

$(BUILD)/reference: $(BUILD)/obj/tests/support/reference.o $(LIBRARY)
	@$(CXX) $(LDFLAGS) -o $@ $^ $(LDLIBS)

readme: $(BUILD)/reference ## write the key reference into docs/configuration.md
	@$(BUILD)/reference > $(BUILD)/reference.md
	@awk -v part=$(BUILD)/reference.md '/^<!-- end of keys/ {inside = 0} !inside {print} \
		/^<!-- keys/ {inside = 1; while ((getline line < part) > 0) print line}' docs/configuration.md > $(BUILD)/configuration.md
	@cp $(BUILD)/configuration.md docs/configuration.md

# ---- what they are built of ----------------------------------------------------------------------

# Tests are built in a third of the time without the optimizer, and their own code does little.
# cmocka 2 calls assert_in_range deprecated, and cmocka 1 has no other.
$(BUILD)/obj/tests/%.o: tests/%.c | $(GENERATED)
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CC) $(CPPFLAGS) -DCMOCKA_DISABLE_DEPRECATION_WARNINGS -Itests $(call pkg,--cflags,$(PACKAGES) cmocka) $(filter-out -O% -D_FORTIFY_SOURCE=%,$(CFLAGS)) -MMD -MP -c -o $@ $<

$(UNIT): $(UNIT_FILES) $(BUILD)/obj/tests/main.o $(LIBRARY)
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CXX) $(TEST_LINK) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(call pkg,--libs,cmocka)

$(BUILD)/tests/integration/%: $(BUILD)/obj/tests/integration/%.o $(HARNESS) $(LIBRARY)
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CXX) $(TEST_LINK) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(call pkg,--libs,cmocka)

# With the room of MariaDB and MySQL in place of PostgreSQL's: its objects come first.
$(BUILD)/tests/integration/mysql/%: $(BUILD)/obj/tests/integration/mysql/%.o $(BUILD)/obj/tests/main.o $(DB_OBJECTS) $(DB_REST)
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CXX) $(TEST_LINK) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(call pkg,--libs,libmariadb cmocka)

test-mysql: $(DB_TESTS) $(MYSQL) build/reader ## the program for MariaDB and MySQL, against MariaDB
	@tests/support/services run --only mariadb,nats -- tests/support/run_tests $(DB_TESTS)

# Counts the calls that set a header.
$(BUILD)/tests/integration/test_nats_headers: private LDFLAGS += -Wl,--wrap=natsMsgHeader_Set

kafka-jars: ## download Kafka and make its archive once; the tests would, too, but several at the same time
	@tests/support/services jars >/dev/null

build/reader: $(wildcard tests/support/reader*.c tests/support/reader*.h)
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CC) -D_GNU_SOURCE $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) $(call pkg,--cflags --libs,rdkafka libnats)

# Name lookups that hang, by LD_PRELOAD, and a plugin of librdkafka that does.
build/hanging.so: tests/support/hanging.c
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CC) -D_GNU_SOURCE -std=c17 $(WARNINGS) -O2 -fPIC -shared -o $@ $< -ldl

include tests/chaos/chaos.mk tests/cluster/cluster.mk tests/bench/bench.mk tests/compare/compare.mk tests/fuzz/fuzz.mk tests/kubernetes/kubernetes.mk tests/matrix/matrix.mk tests/model/model.mk tests/package/package.mk tests/upgrade/upgrade.mk
