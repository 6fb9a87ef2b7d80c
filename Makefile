# Two commands: make run, make test. Each installs what it needs first (scripts/bootstrap). Output goes to build/.
# SPDX-License-Identifier: MIT OR Apache-2.0
.PHONY: help run test bench lint cross clean
WORKLOAD ?=

help:
	@echo "make run                an example for each language: document trees, SQLite and Lua, std::pmr maps, frames in Bevy, SQLite from Go, XML in Julia"
	@echo "make test               every check that a change must pass; FULL=1: the long runs as well"
	@echo "make bench WORKLOAD=W1  a workload against its rivals"
	@echo "make lint               formatting, warnings, clang-tidy, shellcheck"
	@echo "make cross              the C tests on other processors, C libraries and systems"
	@echo "make clean              removes build/"

run:
	@scripts/bootstrap build run
	@. scripts/paths; examples/run

test:
	@scripts/bootstrap build test lint cross
	@. scripts/paths; scripts/test

bench:
	@scripts/bootstrap build bench
	@. scripts/paths; bench/run $(WORKLOAD)

lint:
	@scripts/bootstrap build lint
	@. scripts/paths; scripts/test lint

cross:
	@scripts/bootstrap build test cross
	@. scripts/paths; scripts/test cross

clean:
	rm -rf build
