# outbox-relay. `make help` lists what there is to type.
#
# CC and CXX choose the compiler; SANITIZE=address,undefined or thread builds into a folder of its own.

CC       ?= cc
CXX      ?= c++
SANITIZE ?=
VERSION  := 0.1.0
BUILD    := build$(if $(SANITIZE),/$(firstword $(subst $(comma), ,$(SANITIZE))))
comma    := ,
PREFIX   ?= /usr/local

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := $(if $(findstring clang,$(CC)),$(subst clang,clang++,$(CC)),g++)
endif

PACKAGES   := libpq rdkafka libnats jansson
TEST_ONLY  := cmocka
pkg         = $(shell pkg-config $(1) $(2) 2>/dev/null)

WARNINGS   := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wformat=2 -Wundef -Werror
HARDENING  := -fstack-protector-strong -fstack-clash-protection -fPIE $(if $(SANITIZE),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
ifeq ($(shell uname -m),x86_64)
HARDENING  += -fcf-protection
endif
OPTIMISE   := $(if $(SANITIZE),-O1 -fno-omit-frame-pointer -fsanitize=$(SANITIZE),-O2) -g
CPPFLAGS   += -D_GNU_SOURCE -DRELAY_VERSION='"$(VERSION)"' -Isrc -I$(BUILD)/gen
CFLAGS     += -std=c17 $(WARNINGS) $(HARDENING) $(OPTIMISE) -pthread
CXXFLAGS   += -std=c++17 $(WARNINGS) $(HARDENING) $(OPTIMISE) -fno-exceptions -fno-rtti
LDFLAGS    += -pie -Wl,-z,relro,-z,now,-z,noexecstack $(if $(SANITIZE),-fsanitize=$(SANITIZE)) -pthread
LDLIBS      = $(call pkg,--libs,$(PACKAGES)) -lstdc++

SOURCES    := $(filter-out src/main.c,$(wildcard src/*/*.c)) $(wildcard src/*/*.cpp)
OBJECTS    := $(patsubst src/%,$(BUILD)/obj/%.o,$(SOURCES)) $(BUILD)/obj/sample.o $(BUILD)/obj/schema.o
LIBRARY    := $(BUILD)/librelay.a
BINARY     := $(BUILD)/outbox-relay

UNIT        := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/*/test_*.c))
INTEGRATION := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/integration/test_*.c))
HARNESS     := $(patsubst tests/%.c,$(BUILD)/obj/tests/%.o,$(wildcard tests/integration/harness*.c))
SUPPORT     := build/reader build/mock_kafka

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all demo test test-unit test-integration lint asan tsan valgrind fuzz bench services install deps readme clean help

all: $(BINARY) ## build build/outbox-relay

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

deps: ## install what is missing (Debian, Ubuntu); elsewhere: name it
	@tests/support/deps

# ---- the program ---------------------------------------------------------------------------------

$(BINARY): $(BUILD)/obj/main.c.o $(LIBRARY)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIBRARY): $(OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $(OBJECTS)

$(BUILD)/obj/%.c.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(call pkg,--cflags,$(PACKAGES)) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/obj/%.cpp.o: src/%.cpp
	@mkdir -p $(@D)
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -c -o $@ $<

# A file of config/ as an array of bytes.
embed = { printf 'extern const char $(1)[];\nconst char $(1)[] = {\n'; od -An -v -tu1 $(2) | \
	sed 's/\([0-9][0-9]*\)/\1,/g'; printf '0};\n'; }

$(BUILD)/gen/sample.c: config/relay.toml Makefile
	@mkdir -p $(@D)
	@$(call embed,sample_toml,$<) > $@

$(BUILD)/gen/schema.c: config/schema.sql Makefile
	@mkdir -p $(@D)
	@$(call embed,schema_sql_text,$<) > $@

$(BUILD)/obj/%.o: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

install: all ## install the program and the sample configuration under $(PREFIX)
	install -D -m 755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/outbox-relay
	install -D -m 644 config/relay.toml $(DESTDIR)$(PREFIX)/share/doc/outbox-relay/relay.toml

# ---- tests ---------------------------------------------------------------------------------------

$(BUILD)/obj/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -Itests $(call pkg,--cflags,$(PACKAGES) $(TEST_ONLY)) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(call pkg,--libs,$(TEST_ONLY))

$(BUILD)/tests/integration/%: $(BUILD)/obj/tests/integration/%.o $(HARNESS) $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(call pkg,--libs,$(TEST_ONLY))

build/reader: $(wildcard tests/support/reader*.c tests/support/reader*.h)
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^) $(call pkg,--cflags --libs,rdkafka libnats)

build/mock_kafka: tests/support/mock_kafka.c
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE $(CFLAGS) $(LDFLAGS) -o $@ $< $(call pkg,--cflags --libs,rdkafka)

test: deps ## unit and integration tests, against real servers
	@$(MAKE) --no-print-directory test-unit test-integration

test-unit: $(UNIT)
	@tests/support/run_tests $(UNIT)

test-integration: $(INTEGRATION) $(BINARY) $(SUPPORT)
	@RELAY=$(BINARY) tests/support/services run -- tests/support/run_tests $(INTEGRATION)

asan: ## the same tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory SANITIZE=address,undefined test-unit test-integration

tsan: ## unit and NATS tests under ThreadSanitizer
	@$(MAKE) --no-print-directory SANITIZE=thread tsan-run

.PHONY: tsan-run
tsan-run: $(UNIT) $(BUILD)/tests/integration/test_nats
	@TSAN_OPTIONS="suppressions=$(CURDIR)/tests/support/tsan.supp" tests/support/run_tests $(UNIT)
	@TSAN_OPTIONS="suppressions=$(CURDIR)/tests/support/tsan.supp" \
		tests/support/services run --only nats -- tests/support/run_tests $(BUILD)/tests/integration/test_nats

valgrind: $(UNIT) ## unit tests under valgrind
	@WRAP="valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite" \
		tests/support/run_tests $(UNIT)

lint: ## function and file lengths, include directions, banned calls
	@python3 tests/support/lint.py

# ---- seeing it work ------------------------------------------------------------------------------

demo: deps ## real transactions -> outbox -> relays -> NATS and Kafka, audited
	@$(MAKE) --no-print-directory all $(SUPPORT)
	@tests/support/services run -- tests/demo/demo

services: deps build/reader ## PostgreSQL, nats-server and Kafka to play with, until Ctrl-C
	@tests/support/services up

bench: all $(SUPPORT) ## drain a backlog to each broker: ROWS=1000000
	@tests/support/services run -- tests/bench/drain $(or $(ROWS),1000000)

FUZZERS := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

fuzz: ## each fuzzer for SECONDS_EACH=60 seconds (clang)
	@$(MAKE) --no-print-directory CC=$(FUZZ_CC) CXX=$(subst clang,clang++,$(FUZZ_CC)) SANITIZE=fuzzer-no-link,address,undefined fuzz-run

readme: $(BUILD)/tests/reference ## write the key reference into README.md
	@tests/support/reference $(BUILD)/tests/reference README.md

clean: ## remove build/
	rm -rf build

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
