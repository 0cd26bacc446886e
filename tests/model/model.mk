# The model of the protocol and its twins: included by tests/tests.mk.

.PHONY: model model-position

model-position: ## every interleaving of what positions rely on, and each rule proven to be needed; some seconds
	@mkdir -p $(BUILD)
	@tests/model/position $(shown_if_it_fails)

model: ## the protocol's model, searched entirely by Spin, and each rule proven to be needed: SIZE=small ONLY=slice_is_locked
	@tests/support/deps --model
	@tests/model/model $(call options,SIZE ONLY)
