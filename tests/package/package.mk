# Releases and packages: included by tests/tests.mk.

.PHONY: set-version sbom dist-test deb-test

set-version: ## VERSION=0.2.0, wherever it stands, and as the heading of what CHANGELOG.md calls unreleased
	@tests/package/version set $(if $(filter file,$(origin VERSION)),$(error name it: make set-version VERSION=0.2.0),$(VERSION))

sbom: $(BINARY) ## build/outbox-relay-VERSION.spdx.json: the packages that the program is made of; of an image: ROOT=folder or tar
	@tests/package/sbom $(if $(ROOT),image $(VERSION) $(ROOT),package $(VERSION) $(BINARY)) \
		$(BUILD)/outbox-relay-$(VERSION)$(if $(ROOT),-image).spdx.json
	@echo '  $(BUILD)/outbox-relay-$(VERSION)$(if $(ROOT),-image).spdx.json'

dist-test: $(BINARY) ## make dist, built without git in two places: the same program, and package
	@tests/package/dist_test --build

deb-test: ## as root: make deb in RELEASE (bookworm), lintian, and the package under a systemd of its own
	@tests/support/deps --deb
	@tests/package/deb_test $(or $(RELEASE),bookworm)
