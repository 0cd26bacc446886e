# Three brokers, two PostgreSQL and two relays on machines of their own: included by tests/tests.mk.

.PHONY: cluster-deps cluster-test cluster-control

# With the nats-server of Debian 12 (2.9.10) replicas lose messages that they have acknowledged: docs/failover.md.
# NATS_SERVER= names another one.
CLUSTER_OPTIONS  = $(call options,SEED BROKER MINUTES)
NATS_SERVER     ?= $(abspath $(NEW_NATS))

cluster-deps: deps $(if $(filter kafka,$(BROKER)),,$(if $(filter %/$(NEW_NATS),$(NATS_SERVER)),$(NEW_NATS)))
	@tests/support/deps --cluster
	@$(MAKE) --no-print-directory all build/reader

cluster-test cluster-control: export NATS_SERVER := $(NATS_SERVER)

cluster-test: cluster-deps ## as root: three Kafka brokers, three nats-servers, a PostgreSQL with a standby, under faults: SEED= BROKER=nats|kafka
	@tests/cluster/cluster_test $(CLUSTER_OPTIONS)

cluster-control: cluster-deps ## as root: the same with a relay that marks rows before the acknowledgement: the audit must catch it
	@$(MAKE) --no-print-directory build/mutant
	@RELAY=build/mutant OUTBOX_MUTANT=M1 tests/cluster/cluster_test --expect lost --only leader --only minority \
		$(CLUSTER_OPTIONS)
