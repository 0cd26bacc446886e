# outbox-relay. `make help` lists what there is to type; the targets of tests and benchmarks are in tests/*.mk and
# tests/*/*.mk, and `make help-tests` lists them.
#
# CC and CXX choose the compiler; SANITIZE=address,undefined or thread builds into a folder of its own.

SANITIZE ?=
comma    := ,
VERSION  := 0.1.0
BUILD    := build$(if $(SANITIZE),/$(firstword $(subst $(comma), ,$(SANITIZE))))
PREFIX   ?= /usr/local

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := $(if $(findstring clang,$(CC)),$(subst clang,clang++,$(CC)),g++)
endif

PACKAGES   := libpq rdkafka libnats jansson libmicrohttpd libcrypto libcurl
pkg         = $(shell pkg-config $(1) $(2) 2>/dev/null)

WARNINGS   := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wformat=2 -Wno-format-nonliteral -Wundef -Werror
HARDENING  := -fstack-protector-strong -fstack-clash-protection -fPIE $(if $(SANITIZE),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(if $(findstring clang,$(CC)),2,3))
ifeq ($(shell uname -m),x86_64)
HARDENING  += -fcf-protection
endif
OPTIMISE   := $(if $(SANITIZE),-O1 -fno-omit-frame-pointer -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -g1,-O2 -g)
# Paths in the program are relative: built anywhere, it is the same program.
REPEATABLE := '-ffile-prefix-map=$(CURDIR)=.'
CPPFLAGS   += -D_GNU_SOURCE -Isrc -I$(BUILD)/gen
CFLAGS     += -std=c17 $(WARNINGS) $(HARDENING) $(OPTIMISE) $(REPEATABLE) -pthread
CXXFLAGS   += -std=c++17 $(WARNINGS) $(HARDENING) $(OPTIMISE) $(REPEATABLE) -fno-exceptions -fno-rtti
LDFLAGS    += -pie -Wl,-z,relro,-z,now,-z,noexecstack $(if $(SANITIZE),-fsanitize=$(SANITIZE)) -pthread
LDLIBS      = $(call pkg,--libs,$(PACKAGES))

PRESETS    := $(sort $(wildcard config/presets/*.toml))
STATEMENTS := $(filter-out src/mysql/%,$(sort $(wildcard src/*/sql/*.sql src/*/*/sql/*.sql src/sql/shared/*.sql config/sql/*.sql config/sql/shared/*.sql)))
DB_SQL     := $(sort $(wildcard src/mysql/sql/*.sql))
DB_SHARED  := $(sort $(wildcard src/mysql/sql/shared/*.sql))
DB_OBJECTS := $(patsubst src/%,$(BUILD)/obj/%.o,$(sort $(wildcard src/mysql/*.c))) $(BUILD)/obj/mysql_statements.o
DB_TEXTS   := commands presets sample hints
SOURCES    := $(filter-out src/mysql/%,$(sort $(wildcard src/*/*.c src/*/*.cpp src/*/*/*.c src/*/*/*.cpp)))
# Made of the files of config/, of the files of SQL, and of src/cli/commands.txt (below).
EMBEDDED   := commands presets sample guesses hints metrics inbox status_page statements statement_lists
OBJECTS    := $(patsubst src/%,$(BUILD)/obj/%.o,$(SOURCES)) $(EMBEDDED:%=$(BUILD)/obj/%.o)
LIBRARY    := $(BUILD)/librelay.a
DB_LIBRARY := $(BUILD)/libmysqlroom.a
# What both programs have: all but the rooms of PostgreSQL, and of these the files without libpq.
PG_ROOMS   := outbox/% catalog/% admin/% pg/% desk/%
SHARED     := $(patsubst %,$(BUILD)/obj/%.o,outbox/slices/horizon.c outbox/slices/choice.c outbox/slices/source_state.c outbox/row.c pg/wal_flush.c pg/wire.c)
REST       := $(filter-out $(patsubst %,$(BUILD)/obj/%,$(PG_ROOMS)),$(OBJECTS)) $(SHARED)
DB_REST    := $(BUILD)/librest.a
BINARY     := $(BUILD)/outbox-relay
# The program for MariaDB and MySQL: the same objects, with those of src/mysql in place of PostgreSQL's rooms.
MYSQL      := $(BUILD)/outbox-relay-mysql
HAS_MYSQL  := $(call pkg,--libs,libmariadb)
DB_PROGRAM := $(patsubst src/%,$(BUILD)/obj/%.o,$(sort $(wildcard src/mysql/cli/*.c))) $(DB_OBJECTS) $(DB_TEXTS:%=$(BUILD)/obj/mysql_%.o) $(LIBRARY)
DB_LIBS     = $(call pkg,--libs,$(filter-out libpq,$(PACKAGES)) libmariadb)

# When this version was made: the date of the man page and of packages.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y Makefile)
export SOURCE_DATE_EPOCH

say = @printf '  %-5s %s\n'

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all build-deps deps demo test check lint format install dist deb clean help force

all: $(BINARY) $(if $(HAS_MYSQL),$(MYSQL)) ## build build/outbox-relay, and build/outbox-relay-mysql where libmariadb's headers are

build-deps: ## install what building needs (Debian, Ubuntu); on other systems, list it
	@tests/support/deps --build

deps: ## also install what tests need: the servers, cmocka, Java for Kafka
	@tests/support/deps

demo: ## run real transactions through relays to NATS and Kafka, and audit them: DATABASE=mariadb
	@tests/support/deps --demo $(DATABASE)
	@$(MAKE) --no-print-directory all build/reader
	@DATABASE=$(DATABASE) tests/demo/demo

test: deps ## run unit and integration tests against real servers
	@$(MAKE) --no-print-directory -j$(shell nproc) built kafka-jars
	@$(MAKE) --no-print-directory test-unit
	@$(MAKE) --no-print-directory -j4 audit-pages audit-tools test-integration test-mysql

check: ## what to run before each commit: lint and the unit tests
	@$(MAKE) --no-print-directory -j$(shell nproc) all $(UNIT)
	@$(MAKE) --no-print-directory lint test-unit

lint: $(BINARY) ## check format, include directions, banned calls, line lengths, hardening
	@tests/support/format --check
	@python3 tests/support/lint.py $(BUILD)/obj
	@tests/chaos/faults --matrix
	@tests/support/hardening $(BINARY)

format: ## format the C code as .clang-format says
	@tests/support/format

compile_commands.json: $(OBJECTS) ## how each file is compiled, for editors and clangd
	@python3 tests/support/compile_commands $@ '$(CC) $(CPPFLAGS) -Itests $(call pkg,--cflags,$(PACKAGES) cmocka) $(CFLAGS)' \
		'$(CXX) $(CPPFLAGS) $(CXXFLAGS)'

install: all $(BUILD)/outbox-relay.1 ## program, man page, systemd units, completion, sample: DESTDIR= PREFIX=/usr/local
	@config/install $(BINARY) $(BUILD)/outbox-relay.1 $(PREFIX) '$(DESTDIR)' $(if $(HAS_MYSQL),$(MYSQL))

dist: ## build/outbox-relay-VERSION.tar.gz of what is committed; the same commit makes the same bytes
	@mkdir -p $(BUILD)
	@git diff --quiet HEAD || echo '  what is not committed is left out' >&2
	@git -c tar.umask=0022 -c tar.tar.gz.command='gzip -n9' archive --prefix=outbox-relay-$(VERSION)/ \
		-o $(BUILD)/outbox-relay-$(VERSION).tar.gz HEAD
	@echo '  $(BUILD)/outbox-relay-$(VERSION).tar.gz'

deb: ## build/outbox-relay_VERSION_ARCHITECTURE.deb, a package for the Debian of this machine; needs debhelper
	@rm -rf $(BUILD)/deb
	@$(MAKE) --no-print-directory install HAS_MYSQL= DESTDIR=$(BUILD)/deb/installed PREFIX=/usr >/dev/null
	@config/debian/build $(VERSION) $(SOURCE_DATE_EPOCH) $(BUILD)/deb/installed $(BUILD)/deb/package >/dev/null
	@mv $(BUILD)/deb/*.deb $(BUILD)
	@echo '  $(BUILD)/'$$(basename $$(ls -t $(BUILD)/*.deb | head -n 1))

clean: ## remove build/
	rm -rf build

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 24
	@echo '  make help-tests       the targets of tests and benchmarks'

# ---- the program ---------------------------------------------------------------------------------

$(BINARY): $(BUILD)/obj/main.c.o $(LIBRARY)
	$(say) LINK $@
	@$(CXX) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(MYSQL): $(DB_PROGRAM)
	$(say) LINK $@
	@$(CXX) $(LDFLAGS) -o $@ $^ $(DB_LIBS)

$(BUILD)/outbox-relay.1: $(BINARY) config/man/generate
	@config/man/generate $(BINARY) > $@

$(LIBRARY): $(OBJECTS)
	@rm -f $@
	@$(AR) rcs $@ $(OBJECTS)

GENERATED := $(addprefix $(BUILD)/gen/,base/version.h http/page_hashes.h sql/statements.h mysql/statements.h)
$(BUILD)/obj/%.c.o: src/%.c | $(GENERATED)
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CC) $(CPPFLAGS) $(call pkg,--cflags,$(PACKAGES)) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/obj/%.cpp.o: src/%.cpp
	@mkdir -p $(@D)
	$(say) CXX $@
	@$(CXX) $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -c -o $@ $<

# Written when the version is another one, whether it comes from above or from the command line.
$(BUILD)/gen/base/version.h: force
	@mkdir -p $(@D)
	@echo '#define RELAY_VERSION "$(VERSION)"' | cmp -s - $@ || echo '#define RELAY_VERSION "$(VERSION)"' > $@

BASE64 := ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/

# SHA-256 in base64 of the style and of the script of the status page, which its policy lets through.
$(BUILD)/gen/http/page_hashes.h: config/status-page.html Makefile
	@mkdir -p $(@D)
	@for part in style script; do \
		awk "/^<\/$$part>/ {exit} inside; /^<$$part>/ {inside = 1; print \"\"}" $< | sha256sum | \
		awk -v part=$$part -v digits=$(BASE64) '{ \
			for (i = 1; i <= 64; i += 3) { \
				bits = 0; \
				for (j = i; j < i + 3; j++) \
					bits = 16 * bits + (j > 64 ? 0 : index("123456789abcdef", substr($$1, j, 1))); \
				text = text substr(digits, int(bits / 64) + 1, 1) substr(digits, bits % 64 + 1, 1) \
			} \
			print "#define PAGE_" toupper(part) " \"sha256-" substr(text, 1, 43) "=\"" }'; done > $@

# Embeds a file as an array of bytes.
embed = { printf 'extern const char %s[];\nconst char %s[] = {\n' $(1) $(1); od -An -v -tu1 $(2) | \
	sed 's/\([0-9][0-9]*\)/\1,/g'; printf '0};\n'; }

$(BUILD)/gen/sample.c: config/relay.toml
$(BUILD)/gen/commands.c: src/cli/commands.txt
$(BUILD)/gen/guesses.c: config/guesses.txt
$(BUILD)/gen/inbox.c: config/inbox.sql
$(BUILD)/gen/status_page.c: config/status-page.html
$(addprefix $(BUILD)/gen/,commands.c sample.c guesses.c inbox.c status_page.c): $(BUILD)/gen/%.c: Makefile
	@mkdir -p $(@D)
	@$(call embed,embedded_$*,$(filter-out Makefile,$^)) > $@

# What the program for MariaDB and MySQL has in place of these texts.
$(BUILD)/gen/mysql_commands.c: src/mysql/commands.txt src/cli/commands.txt src/mysql/commands.awk Makefile
	@awk -f src/mysql/commands.awk $(wordlist 1,2,$^) > $@.txt && $(call embed,embedded_commands,$@.txt) > $@; rm -f $@.txt

$(BUILD)/gen/mysql_sample.c: src/mysql/sample.toml config/relay.toml Makefile
	@{ cat $<; sed -n '/^# This process/,$$p' config/relay.toml; } > $@.txt && $(call embed,embedded_sample,$@.txt) > $@; rm -f $@.txt

$(BUILD)/gen/mysql_hints.c: $(BUILD)/gen/hints.c
	@sed '/PostgreSQL/d; /SQLSTATE/d; s/outbox-relay \([a-z]\)/outbox-relay-mysql \1/g' $< > $@

$(BUILD)/gen/mysql_presets.c: $(BUILD)/gen/presets.c
	@sed '/^const char preset_/,/^0};/d; /^extern const char preset_/d; /^{"/d' $< > $@

# A table of the names and the texts of config/presets/NAME.toml.
$(BUILD)/gen/presets.c: $(PRESETS) config/presets Makefile
	@mkdir -p $(@D)
	@{ $(foreach file,$(PRESETS),$(call embed,preset_$(subst -,_,$(basename $(notdir $(file)))),$(file));) \
		echo 'extern const struct embedded_preset { const char *name, *text; } embedded_presets[];'; \
		echo 'const struct embedded_preset embedded_presets[] = {'; \
		for name in $(sort $(basename $(notdir $(PRESETS)))); do \
			echo "{\"$$name\", preset_$$(echo $$name | tr - _)},"; done; echo '{0, 0}};'; } > $@

# A table of the lines of config/hints.tsv (base/hint.h). The compiler names the line that has not three columns.
$(BUILD)/gen/hints.c: config/hints.tsv Makefile
	@mkdir -p $(@D)
	@{ echo 'extern const struct hint { const char *where, *words, *advice; } embedded_hints[];'; \
		echo 'const struct hint embedded_hints[] = {'; echo '#line 1 "$<"'; \
		sed 's/^#.*//; s/[\\"]/\\&/g; s/\t/", "/g; s/..*/{"&"},/' $<; echo '{0, 0, 0}};'; } > $@

# A table of the lines of config/metrics.tsv (http/metrics.h). The compiler names the line that has not six columns.
$(BUILD)/gen/metrics.c: config/metrics.tsv Makefile
	@mkdir -p $(@D)
	@awk -F'\t' '/^[^#]/ && $$2 !~ /^(counter|gauge)$$/ {print FILENAME ":" FNR ": a metric is a counter or a gauge"; bad = 1} \
		END {exit bad}' $< >&2
	@{ echo 'extern const struct metric { const char *name, *type, *help, *path, *labels, *zero; } embedded_metrics[];'; \
		echo 'const struct metric embedded_metrics[] = {'; echo '#line 1 "$<"'; \
		sed 's/^#.*//; s/[\\"]/\\&/g; s/\t/", "/g; s/..*/{"&"},/' $<; echo '{0, 0, 0, 0, 0, 0}};'; } > $@

# Written when a file of SQL is new, gone or renamed.
$(BUILD)/gen/sql/names: force
	@mkdir -p $(@D)
	@echo '$(STATEMENTS) $(DB_SQL) $(DB_SHARED)' | cmp -s - $@ || echo '$(STATEMENTS) $(DB_SQL) $(DB_SHARED)' > $@

# src/ROOM/sql/NAME.sql, or config/sql/NAME.sql, is embedded as statement_NAME, without the lines that say who uses it (src/sql/statements.awk).
# sql_own_names are the names that the statements give to what may stand beside columns of a user's table; what they quote is none.
$(BUILD)/gen/sql/statements.h: $(STATEMENTS) $(BUILD)/gen/sql/names Makefile
	@mkdir -p $(@D)
	@{ echo '#pragma once'; \
		for file in $(STATEMENTS); do echo "extern const char statement_$$(basename $$file .sql)[];"; done; \
		echo 'extern const char sql_own_names[];'; \
		echo 'struct sql_use { const char *user, *name, *text, *condition, *facts; };'; \
		echo 'struct sql_shared { const char *name, *text; };'; \
		echo '/* Both end with a name of NULL. */'; \
		echo 'extern const struct sql_use sql_uses[];'; \
		echo 'extern const struct sql_shared sql_shared[];'; } > $@

$(BUILD)/gen/statements.c: $(STATEMENTS) $(BUILD)/gen/sql/names Makefile
	@mkdir -p $(@D)
	@{ for file in $(STATEMENTS); do grep -v '^-- use: ' $$file > $@.sql; \
			$(call embed,statement_$$(basename $$file .sql),$@.sql); done; rm -f $@.sql; \
		echo 'extern const char sql_own_names[]; const char sql_own_names[] = " "'; \
		sed 's/"relay_[a-z_]*"//g' $(filter src/%,$(STATEMENTS)) | grep -o 'relay_[a-z_]*' | sort -u | sed 's/.*/"& "/'; echo ';'; } > $@

# src/mysql/sql/NAME.sql is embedded as db_sql_NAME.
$(BUILD)/gen/mysql/statements.h: $(DB_SQL) $(BUILD)/gen/sql/names Makefile
	@mkdir -p $(@D)
	@{ echo '#pragma once'; for file in $(DB_SQL); do echo "extern const char db_sql_$$(basename $$file .sql)[];"; done; \
		echo 'extern const struct db_statement { const char *name, *text; } db_statements[]; /* ends with a name of NULL */'; } > $@

$(BUILD)/gen/mysql_statements.c: $(DB_SQL) $(DB_SHARED) $(BUILD)/gen/sql/names $(BUILD)/gen/sql/statements.h $(BUILD)/gen/mysql/statements.h Makefile
	@mkdir -p $(@D)
	@{ for file in $(DB_SQL) $(DB_SHARED); do $(call embed,db_sql_$$(basename $$file .sql),$$file); done; \
		echo '#include "sql/statements.h"'; echo 'const char sql_own_names[] = " "; const struct sql_shared sql_shared[] = {'; \
		for name in $(basename $(notdir $(DB_SHARED))); do echo "{\"$$name\", db_sql_$$name},"; done; echo '{0, 0}};'; \
		echo '#include "mysql/statements.h"'; echo 'const struct db_statement db_statements[] = {'; \
		for name in $(basename $(notdir $(DB_SQL))); do echo "{\"$$name\", db_sql_$$name},"; done; echo '{0, 0}};'; } > $@

$(DB_REST): $(REST)
	@rm -f $@
	@$(AR) rcs $@ $(REST)

$(DB_LIBRARY): $(DB_OBJECTS)
	@rm -f $@
	@$(AR) rcs $@ $(DB_OBJECTS)

$(BUILD)/obj/mysql/%.c.o: CPPFLAGS += $(call pkg,--cflags,libmariadb)
$(BUILD)/obj/tests/integration/mysql/%.o: CPPFLAGS += $(call pkg,--cflags,libmariadb)

$(BUILD)/gen/statement_lists.c: $(STATEMENTS) $(filter %.c,$(SOURCES)) src/sql/statements.awk src/cli/commands.txt $(BUILD)/gen/sql/statements.h
	@{ echo '#include "sql/statements.h"'; awk -f src/sql/statements.awk src/cli/commands.txt $(filter %.c,$(SOURCES)) $(STATEMENTS); } > $@

$(BUILD)/obj/%.o: $(BUILD)/gen/%.c
	@mkdir -p $(@D)
	$(say) CC $@
	@$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# The program also builds in a tree without tests/.
-include tests/tests.mk
-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
