# The commands of this repository. Each installs what it needs first (scripts/bootstrap) and writes to build/ only.
#
# A check is a line of scripts/checks.txt: `make check-go-race` runs it alone. `make test` and `make check` run tiers of them,
# two at a time, print a line for each, and end with the number of tests that passed and failed. The output of a check is in
# build/logs/ while it runs. ONLY=REGEX selects checks by their names.
# SPDX-License-Identifier: MIT OR Apache-2.0
.PHONY: help run test check list bench format docs dist clean
.DEFAULT_GOAL := help
SHELL := bash
WORKLOAD ?=
only = $(if $(ONLY),--only '$(ONLY)')

help:
	@echo "make run                real programs on Toft: document trees, SQLite and Lua, std::pmr maps, Bevy, SQLite from Go, XML in Julia"
	@echo "make test               tests of every language, vectors, conformance, formatting: some minutes"
	@echo "make test-c             tests of one language; also test-cpp, test-rust, test-go, test-julia"
	@echo "make check              everything else that CI runs: sanitizers, Valgrind, other processors, lint, programs"
	@echo "FULL=1 make check       the long tier: long streams, all mutants, Miri, fuzzing"
	@echo "make check-NAME         one check; make list shows their names"
	@echo "make bench WORKLOAD=W1  a workload against its rivals"
	@echo "make format             formats C, C++, Go and Rust"
	@echo "make docs               the documents as a site, in build/site/"
	@echo "make dist               what a release publishes, in build/dist/"
	@echo "make clean              removes build/"

test:
	@scripts/bootstrap test
	@scripts/check --tier test $(only)

check:
	@scripts/bootstrap check
	@scripts/check --tier check $(only)

test-%:
	@scripts/bootstrap test-$*
	@scripts/check --tier test-$*

check-%: ; @scripts/check $*

list: ; @scripts/check --list

format:
	@scripts/bootstrap test
	@. scripts/paths; scripts/tidy --fix

run:
	@scripts/bootstrap run
	@. scripts/paths; examples/run

bench:
	@scripts/bootstrap $(or $(addprefix bench-,$(shell echo $(WORKLOAD) | tr W w)),bench)
	@. scripts/paths; bench/run $(WORKLOAD)

docs:
	@scripts/bootstrap docs
	@. scripts/paths; docs/site/build

dist:
	@scripts/bootstrap dist
	@. scripts/paths; packaging/dist

clean:
	rm -rf build
