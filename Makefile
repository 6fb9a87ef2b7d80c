# The commands of this repository. Each installs what it needs first (scripts/bootstrap) and writes to build/ only.
#
# A check is a target of its own: `make check-go-race` runs it alone. `make test` and `make check` run lists of them, two
# at a time, print a line for each, and end with the number of tests that passed and failed. The output of a check is in
# build/logs/ while it runs.
# SPDX-License-Identifier: MIT OR Apache-2.0
.PHONY: help run test check bench format docs dist clean
.DEFAULT_GOAL := help
SHELL := bash
WORKLOAD ?=
# A sanitizer or Valgrind would switch the checks of arenas on: tests of that do so themselves.
export TOFT_CHECKED := 0

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

# ---- the tiers ----

TEST_C := check-c check-vectors check-fast-path check-copies
TEST_CPP := check-cpp
TEST_RUST := check-rust
TEST_GO := check-go
TEST_JULIA := check-julia
# The longest first, the short ones last.
TEST := check-rust check-c check-cpp check-julia check-go check-conformance check-vectors check-format check-fast-path \
  check-copies

# s390x is big-endian, armhf has 32 bits and traps unaligned accesses, mingw is Windows: the other targets differ from these
# and from x86-64 in no property that the code depends on, and are in the long tier.
CARGO := check-rust-ui check-rust-lint check-rust-features check-rust-loom check-rust-fast-path check-rust-msrv \
  check-rust-parity check-rust-nightly check-rust-miri check-rust-m32 check-differential check-cli check-snapshot check-snippets check-misuse \
  check-conformance-broken check-python-user check-docs check-cli-report
# The longest first, the short ones last.
CHECK := $(CARGO) check-tsan check-asan check-s390x check-clang-shared check-armhf check-mingw check-msan check-programs \
  check-julia-pkg check-single check-go-race check-lint check-go-m32 check-go-windows check-install check-mutants check-go-asan \
  check-go-examples check-cpp-headers check-go-nocgo check-go-fuzz check-smallest check-valgrind check-go-user check-soak check-findings \
  check-report check-julia-nolib check-kit check-mini check-litter check-julia-xmltree
LONG_CARGO := check-rust-semver check-rust-streams check-conformance-asan check-rust-bevy check-rust-wasm check-rust-kani check-rust-arm check-rust-bare \
  check-rust-miri-stacked check-rust-asan check-rust-tsan check-rust-valgrind check-rust-fuzz check-differential-fuzz
LONG := check-omit check-proofs check-interleavings check-zig check-julia-long check-julia-bounds check-go-arm64 check-go-arm \
  check-go-cgocheck2 check-go-portable check-dist check-php-parser check-register-allocator \
  check-aarch64 check-riscv64 check-m32 check-musl $(LONG_CARGO)
ifdef FULL
CHECK += $(LONG)
CARGO += $(LONG_CARGO)
endif

# Cargo locks its target directory, so its checks run one after another, as one of the two jobs. C++ uses what C built.
.PHONY: cargo-checks
cargo-checks: ; @env -u MAKEFLAGS -u MFLAGS $(MAKE) -s -k --no-print-directory $(CARGO)
ifdef CHECKS
check-cpp: | check-c
endif

# $1: the checks; $2: targets that run several of them.
CHECKS_OF = @rm -f $(1:check-%=build/results/%); CHECKS=continue $(MAKE) -s -j2 -k -O --no-print-directory \
  $2 $(filter-out $(if $2,$(CARGO)),$1); scripts/check --summary $1

test:
	@scripts/bootstrap test
	@. scripts/paths; $(MAKE) --no-print-directory tier-test

check:
	@scripts/bootstrap check
	@. scripts/paths; $(MAKE) --no-print-directory tier-check

test-%:
	@scripts/bootstrap test-$*
	@. scripts/paths; $(MAKE) --no-print-directory tier-$@

.PHONY: tier-test tier-check tier-test-c tier-test-cpp tier-test-rust tier-test-go tier-test-julia list
tier-test: ; $(call CHECKS_OF,$(TEST))
tier-check: ; $(call CHECKS_OF,$(CHECK),cargo-checks)
tier-test-c: ; $(call CHECKS_OF,$(TEST_C))
tier-test-cpp: ; $(call CHECKS_OF,$(TEST_CPP))
tier-test-rust: ; $(call CHECKS_OF,$(TEST_RUST))
tier-test-go: ; $(call CHECKS_OF,$(TEST_GO))
tier-test-julia: ; $(call CHECKS_OF,$(TEST_JULIA))
list: ; @printf '%s\n' $(TEST) $(CHECK) $(if $(FULL),,$(LONG))

.PHONY: $(TEST) $(CHECK) $(LONG)
RUN = @scripts/check $(@:check-%=%)
TESTS = @scripts/check --tests $(@:check-%=%)
export TOFT_LONG := $(if $(FULL),1,0)
export FULL
comma := ,
space := $(eval) $(eval)

# ---- C and C++ ----

# $1: the programs that it needs; $2: the folder of its script.
steps = $(TESTS) --need $(subst $(space),$(comma),$1) "$2/check $(@:check-%=%)"

check-c check-cpp check-omit check-clang-shared check-asan check-msan check-tsan check-m32: ; $(call steps,gcc,c)
check-smallest: ; $(call steps,arm-none-eabi-gcc qemu-system-arm node,c)
check-valgrind: ; $(call steps,valgrind,c)
check-aarch64: ; $(call steps,aarch64-linux-gnu-gcc,c)
check-armhf: ; $(call steps,arm-linux-gnueabihf-gcc,c)
check-s390x: ; $(call steps,s390x-linux-gnu-gcc,c)
check-riscv64: ; $(call steps,riscv64-linux-gnu-gcc,c)
check-musl: ; $(call steps,musl-gcc,c)
check-mingw: ; $(call steps,x86_64-w64-mingw32-g++-posix,c)
check-cpp-headers: ; $(RUN) --need g++ cpp/check-headers
check-zig: ; $(TESTS) scripts/check-zig
check-single: ; $(RUN) --need gcc,g++,unifdef,x86_64-w64-mingw32-gcc-posix scripts/check-single
check-install: ; $(RUN) --need cmake,ninja,pkg-config scripts/check-install
check-fast-path: ; $(RUN) --need gcc,objdump c/tests/check-fast-path
# The resident memory of long runs must stay flat.
check-soak: ; $(RUN) --need gcc "bench/soak/run $(if $(FULL),200000,1000)"
check-mutants: ; $(RUN) --need gcc "abi/mutants $(if $(FULL),,--some)"
check-misuse: ; $(TESTS) --need gcc,g++,valgrind "scripts/check-misuse misuse"
check-findings: ; $(TESTS) --need gcc,strip,setcap,setpriv "scripts/check-misuse findings"

# ---- the ABI ----

check-vectors: ; $(RUN) "python3 -B abi/model/generate.py --check; python3 -B abi/model/check.py; python3 -B abi/model/spec_examples.py"
check-mini: ; $(RUN) --need gcc,g++ abi/check-mini
check-kit: ; $(TESTS) --need gcc conformance/check-kit
check-conformance: ; $(TESTS) --need gcc,g++,cargo,go conformance/run
check-conformance-asan: ; $(TESTS) --need gcc,g++,cargo,go "conformance/run --asan"
check-conformance-broken: ; $(TESTS) --need gcc,g++,cargo,go "conformance/run --broken $(if $(FULL),--all)"
check-differential: ; $(TESTS) --need gcc,cargo "conformance/differential $(if $(FULL),100000000)"
check-differential-fuzz: ; $(TESTS) --need cargo,rustup "scripts/rust-toolchain nightly rust-src; conformance/differential --fuzz $(if $(FULL),300,10)"
check-snapshot: ; $(RUN) --need cargo,gcc abi/check-snapshot

# ---- Rust ----

# Nothing is compiled twice here, and a failed test names its line without debug information.
export CARGO_INCREMENTAL := 0
export CARGO_PROFILE_DEV_DEBUG := 0

check-rust check-rust-streams check-rust-ui check-rust-loom check-rust-bevy check-rust-features: ; $(call steps,cargo,rust)
check-rust-lint check-rust-kani check-rust-semver: ; $(RUN) --need cargo "rust/check $(@:check-%=%)"
check-rust-msrv check-rust-parity check-rust-nightly check-rust-bare check-rust-fuzz: ; $(RUN) --need cargo,rustup "rust/check $(@:check-%=%)"
check-rust-miri check-rust-miri-stacked check-rust-asan check-rust-tsan: ; $(call steps,cargo rustup,rust)
check-rust-m32: ; $(call steps,cargo rustup gcc,rust)
check-rust-wasm: ; $(call steps,cargo rustup node,rust)
check-rust-arm: ; $(call steps,cargo rustup qemu-arm arm-linux-gnueabihf-gcc,rust)
check-rust-valgrind: ; $(call steps,cargo valgrind,rust)
check-rust-fast-path: ; $(TESTS) --need cargo,objdump rust/asm/check-fast-path
check-cli: ; $(call steps,cargo clippy-driver gcc,rust)
check-cli-report: ; $(TESTS) --need cargo,gcc cli/check-report

# ---- Go ----

check-go check-go-race check-go-cgocheck2 check-go-asan check-go-portable check-go-m32 check-go-examples: ; $(call steps,go gcc,go)
check-go-nocgo: ; $(call steps,go,go)
check-go-windows: ; $(call steps,go x86_64-w64-mingw32-gcc-posix,go)
check-go-arm64: ; $(call steps,go qemu-aarch64 aarch64-linux-gnu-gcc,go)
check-go-arm: ; $(call steps,go qemu-arm arm-linux-gnueabihf-gcc,go)
check-go-fuzz: ; $(RUN) --need go,gcc "go/check go-fuzz"
check-go-user: ; $(RUN) --need go,gcc scripts/check-go-user

# ---- Julia ----

julia = julia/check $(@:check-%=%)
check-julia check-julia-pkg check-julia-nolib check-julia-xmltree check-julia-long check-julia-bounds:
	$(TESTS) --need gcc "$(julia)"

# ---- programs, pages, formatting ----

check-python-user: ; $(TESTS) --need python3,gcc,cargo "examples/check python-user"
check-programs: ; $(TESTS) --need gcc,valgrind,pkg-config "examples/check programs"
# Its own target directories: it does not wait for Cargo's other checks.
check-php-parser: ; $(TESTS) --need cargo "examples/php_parser/run --test"
check-register-allocator: ; $(TESTS) --need cargo "examples/register_allocator/run --test"
check-report: ; $(TESTS) "python3 -B bench/test_report.py build/report"
check-litter: ; $(TESTS) --need gcc "bench/litter/test.py build/litter"
# Debian 12 has no CBMC, and no distribution has GenMC: proofs/README.md.
check-proofs: ; $(TESTS) "proofs/check cbmc"
check-interleavings: ; $(TESTS) "proofs/check genmc"
check-snippets: ; $(RUN) scripts/check-snippets
check-copies: ; $(RUN) "scripts/tidy copies"
check-docs: ; $(RUN) --need mkdocs,doxygen,cargo "docs/site/check-pages; docs/site/build; docs/site/check-search"
check-dist: ; $(TESTS) --need cargo,go,cmake,ninja,dpkg-shlibdeps packaging/check-dist
check-format: ; $(RUN) "scripts/tidy format layers"
check-lint: ; $(RUN) "scripts/tidy analysis"

format:
	@scripts/bootstrap test
	@. scripts/paths; scripts/tidy --fix

# ---- other targets ----

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
