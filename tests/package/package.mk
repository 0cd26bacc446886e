# Releases and packages: included by tests/tests.mk.

.PHONY: set-version dist-test deb-test

set-version: ## VERSION=0.2.0, wherever it stands, and as the heading of what CHANGELOG.md calls unreleased
	@tests/package/version set $(if $(filter file,$(origin VERSION)),$(error name it: make set-version VERSION=0.2.0),$(VERSION))

dist-test: $(BINARY) ## make dist, built without git in two places: the same program, and package
	@tests/package/dist_test --build

deb-test: ## as root: make deb in RELEASE (bookworm), lintian, and the package under a systemd of its own
	@tests/support/deps --deb
	@tests/package/deb_test $(or $(RELEASE),bookworm)
