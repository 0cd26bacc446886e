# The model of the protocol and its twins: included by tests/tests.mk.

.PHONY: model

model: ## the protocol's model, searched entirely by Spin, and each rule proven to be needed: SIZE=small ONLY=slice_is_locked
	@tests/support/deps --model
	@tests/model/model $(call options,SIZE ONLY)
