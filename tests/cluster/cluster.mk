# Three brokers, two PostgreSQL and two relays on machines of their own: included by tests/tests.mk.

.PHONY: cluster-deps cluster-test cluster-control

CLUSTER_OPTIONS = $(call options,SEED BROKER MINUTES)

cluster-deps: deps
	@tests/support/deps --cluster
	@$(MAKE) --no-print-directory all build/reader

cluster-test: cluster-deps ## three Kafka brokers, three nats-servers, a PostgreSQL with a standby, under faults: SEED= BROKER=nats|kafka
	@tests/cluster/cluster_test $(CLUSTER_OPTIONS)

cluster-control: cluster-deps ## the same with a relay that marks rows before the acknowledgement: the audit must catch it
	@$(MAKE) --no-print-directory build/mutant
	@RELAY=build/mutant OUTBOX_MUTANT=M1 tests/cluster/cluster_test --expect lost --only leader --only minority \
		$(CLUSTER_OPTIONS)
