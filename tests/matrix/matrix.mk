# The versions of the servers: included by tests/tests.mk.

.PHONY: matrix-test

matrix-test: deps $(INTEGRATION) $(BINARY) $(SUPPORT) $(DB_TESTS) $(MYSQL) ## PostgreSQL 13 to 18, nats-server 2.9 and later, Kafka 3.3 to 4, MySQL, MariaDB: ONLY=postgres-13,kafka
	@tests/matrix/matrix $(call options,ONLY)
