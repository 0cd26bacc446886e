# The fuzzers: included by tests/tests.mk.

.PHONY: fuzz fuzz-run fuzz-nats

FUZZ_CC      ?= $(shell for cc in clang clang-19 clang-16 clang-14; do command -v $$cc && break; done)
FUZZERS      := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
SECONDS_EACH ?= 60

fuzz: ## each fuzzer for SECONDS_EACH=60 (clang and its libFuzzer)
	@test -n "$(FUZZ_CC)" || { echo 'missing, by their Debian names: clang-14 libclang-rt-14-dev'; exit 1; }
	@$(MAKE) --no-print-directory CC=$(FUZZ_CC) CXX=$(subst clang,clang++,$(FUZZ_CC)) \
		SANITIZE=fuzzer-no-link,address,undefined fuzz-run

fuzz-nats: deps ## the program beside a hostile NATS server, under the sanitizers: SECONDS_EACH=60 SEED=
	@$(MAKE) --no-print-directory SANITIZE=address,undefined build/address/outbox-relay
	@RELAY=build/address/outbox-relay tests/support/services run --only postgres -- \
		tests/fuzz/hostile_nats --seconds $(SECONDS_EACH) $(addprefix --seed ,$(SEED))

fuzz-run: $(FUZZERS)
	@for fuzzer in $^; do echo "== $$fuzzer"; mkdir -p $(BUILD)/corpus/$${fuzzer##*/}; \
		$$fuzzer -max_total_time=$(SECONDS_EACH) -print_final_stats=1 -verbosity=0 \
		-artifact_prefix=$(BUILD)/ $(BUILD)/corpus/$${fuzzer##*/} || exit 1; done

$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.o $(LIBRARY)
	@mkdir -p $(@D)
	$(say) LINK $@
	@$(CXX) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)
