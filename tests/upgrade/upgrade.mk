# Relays of the version before beside those of this one: included by tests/tests.mk.

.PHONY: upgrade-test

# The version before: the newest tag below this commit. Without one it is this commit: no older schema is supported.
OLD ?= $(shell git describe --tags --abbrev=0 HEAD^ 2>/dev/null || git rev-parse HEAD)

upgrade-test: deps ## relays of an older version replaced one by one under load, and back, audited: OLD=ref BROKER=nats|kafka|both
	@$(MAKE) --no-print-directory all build/reader
	@tests/upgrade/build_old $(OLD)
	@tests/support/services run $(if $(filter kafka both,$(BROKER)),,--only postgres$(comma)nats) -- \
		tests/upgrade/upgrade_test --old build/upgrade/$(OLD)/build/outbox-relay $(call options,BROKER)
