# Faults under load, each fault by itself, and the proof that the audit can fail: included by tests/tests.mk.

.PHONY: chaos chaos-short faults mutants mutants-mysql test-crash

CHAOS_OPTIONS = $(call options,DATABASE PROFILE SEED MINUTES ROOM FAULTS_A_MINUTE BROKER RELAYS EVENTS KEYS ORDER ON_SENT TABLE CONTRACT PARTITIONS) $(if $(CHURN),--churn) \
	$(if $(EXPECT_DISORDER),--expect-disorder)
CHAOS_NEEDS   = all build/reader build/crash.so $(NEW_NATS)
# The auditor works in PostgreSQL.
CHAOS_SERVERS = $(if $(filter-out postgres,$(DATABASE)),--only postgres$(comma)mariadb$(comma)nats$(comma)kafka)

# With atomic batches; NATS_PATH= runs the server that is installed.
NATS_PATH ?= $(abspath $(dir $(NEW_NATS))):
chaos chaos-short mutants mutants-mysql: export PATH := $(NATS_PATH)$(PATH)

ifeq ($(PROFILE),cluster)
chaos: MINUTES ?= 4
chaos: cluster-test
else
chaos: deps ## relays and servers killed, cut off and starved under load, and every event audited: DATABASE=mariadb SEED= MINUTES= BROKER= PROFILE=cluster
	@$(MAKE) --no-print-directory $(CHAOS_NEEDS)
	@tests/support/services run $(CHAOS_SERVERS) -- tests/chaos/chaos $(CHAOS_OPTIONS)
endif

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

mutants-mysql: deps ## the same of outbox-relay-mysql: make chaos DATABASE=mariadb must catch each
	@$(MAKE) --no-print-directory $(CHAOS_NEEDS) build/mutant-mysql
	@tests/chaos/mutants_mysql

test-crash: $(BINARY) build/reader build/crash.so ## a relay killed, stopped and cut off at every point of its cycle
	@RELAY=$(BINARY) tests/chaos/crash_test

# Faults at exact points of the unmodified program, by LD_PRELOAD.
build/crash.so: tests/chaos/crash.c
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CC) -D_GNU_SOURCE $(filter-out -fPIE,$(CFLAGS)) -fPIC -shared -o $@ $< \
		$(call pkg,--cflags --libs,libpq rdkafka libnats) -ldl

# Relays that break a promise, for the audit to notice: the relay's own objects, some calls diverted.
WRAPPED := broker_ready broker_send broker_await outbox_claim outbox_settle order_is_due order_is_held natsMsgHeader_Set \
	nats_one_call_works natsOptions_SetAllowReconnect nats_batch_headers nats_read_ack

build/mutant: $(BUILD)/obj/tests/chaos/mutants.o $(BUILD)/obj/main.c.o $(LIBRARY)
	$(say) LINK $@
	@$(CXX) $(LDFLAGS) $(addprefix -Wl$(comma)--wrap=,$(WRAPPED)) -o $@ $^ $(LDLIBS)

build/mutant-mysql: $(BUILD)/obj/tests/chaos/mutants.o $(DB_PROGRAM)
	$(say) LINK $@
	@$(CXX) $(LDFLAGS) $(addprefix -Wl$(comma)--wrap=,$(WRAPPED)) -o $@ $^ $(DB_LIBS)
