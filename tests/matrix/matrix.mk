# The versions of the servers: included by tests/tests.mk.

.PHONY: matrix-test

matrix-test: deps $(INTEGRATION) $(BINARY) $(SUPPORT) ## PostgreSQL 13 to 18, nats-server 2.9 and later, Kafka 3.3 to 4: ONLY=postgres-13,kafka
	@tests/matrix/matrix $(call options,ONLY)
