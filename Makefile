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
CARGO := check-rust-ui check-rust-lint check-rust-ffi check-rust-features check-rust-loom check-rust-fast-path check-rust-msrv \
  check-rust-nightly check-rust-miri check-rust-m32 check-differential check-cli check-snapshot check-snippets check-misuse \
  check-conformance-broken check-python-user check-relay check-docs check-cli-report
CHECK := $(CARGO) check-julia-pkg check-msan check-valgrind check-asan check-tsan check-clang-shared check-mutants check-soak \
  check-lint check-cpp-headers check-smallest check-install check-single check-findings check-report check-programs check-go-race \
  check-go-asan check-go-user check-go-nocgo check-go-windows check-go-m32 check-go-fuzz check-go-examples check-julia-nolib \
  check-julia-xmltree check-armhf check-s390x check-mingw
LONG_CARGO := check-rust-streams check-conformance-asan check-rust-bevy check-rust-wasm check-rust-kani check-rust-arm check-rust-bare \
  check-rust-miri-stacked check-rust-asan check-rust-tsan check-rust-valgrind check-rust-fuzz check-differential-fuzz
LONG := check-omit check-proofs check-interleavings check-zig check-julia-long check-julia-bounds check-go-arm64 check-go-arm \
  check-go-cgocheck2 check-go-portable check-dist check-oxc-parser check-aarch64 check-riscv64 check-m32 check-musl $(LONG_CARGO)
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

# ---- C and C++: a preset of CMakePresets.json each ----

preset = cmake --preset $1 $3 && cmake --build build/$1 -j 2 --target $2 && ctest --preset $1
streams := test_((meter_)?streams|rounds)
long_tests := test_vectors|$(streams)
unless_full = $(if $(FULL),,$1)

check-c: ; $(TESTS) "$(call preset,gcc,c_tests) -L '^c$$'"
check-cpp: ; $(TESTS) "$(call preset,gcc,all) -L cpp"
# Builds without the parts that TOFT_OMIT_ macros exclude, and without an operating system, with the size of each.
check-smallest: ; $(TESTS) --need arm-none-eabi-gcc,qemu-system-arm,node \
  "$(call preset,smallest,c_tests) -L '^c$$'; c/tests/sizes --check; examples/small/run"
check-omit: ; $(TESTS) "for feature in CHECKS METERS PAGE_CACHE POOLS RECYCLER THREADS; do \
  $(call preset,smallest,c_tests,-DTOFT_OMIT=\$$feature) -L '^c$$' || exit; done"
check-clang-shared: ; $(TESTS) "echo '#include <vector>' | \$$CLANGXX -stdlib=libc++ -x c++ -E - >/dev/null || \
  { echo 'no libc++: scripts/bootstrap check installs it'; exit 77; }; $(call preset,clang-shared,all,$(left_out))"
check-asan: ; $(TESTS) "$(call unless_full,export TOFT_SHORT=1 GTEST_FILTER='-*CountedBlocksDoNotSpill*';) \
  $(call preset,asan,all,$(left_out))"
# In place of Valgrind in most tests. A library that is loaded again has old shadow memory for its thread-local storage.
check-msan: ; $(TESTS) "export TOFT_SHORT=1 CMOCKA_SOURCE=\$$(scripts/cmocka-source); \
  $(call preset,msan,c_tests) -E '$(long_tests)|test_(refusal|dlclose)'"
# Outside the long tier ThreadSanitizer runs the tests that have threads.
one_thread := test_(arena|checked|embed|hardened|lease_generations|malloc|meter|meter_oom|oom|pool|pool_growth|recycler|recycler_checked|refusal|rounds|sample|signal|snapshot|sources|streams|strings|two_units)(_hardened)?$$
left_out := -DTOFT_TESTS_LEFT_OUT=$(call unless_full,container_test)
check-tsan: ; $(TESTS) "conformance/run --tsan; $(call unless_full,export GTEST_FILTER='-*CountedBlocksDoNotSpill*:*PoolTest.*:Rules/*:Failure.*';) \
  $(call preset,tsan,all,$(left_out)) -E '$(long_tests)$(call unless_full,|$(one_thread))'"
# Uses the programs that check-c and check-cpp build. Outside the long tier MemorySanitizer runs most of them. The processes
# of two tests exit with arenas alive.
memcheck := valgrind -q --error-exitcode=99 --leak-check=\$$leaks --fair-sched=yes \
  --errors-for-leak-kinds=definite,indirect,possible
under_memcheck := $(if $(FULL),c/tests/test_* cpp/tests/toft_cpp_tests,$(addprefix c/tests/test_,arena checked thread_exit))
check-valgrind: ; $(TESTS) --need valgrind "cmake --preset gcc && cmake --build build/gcc -j 2; cd build/gcc; \
  failed=0; for test in $(under_memcheck); do \
    case \$$test in *test_process_profile|*test_hardened) leaks=no ;; *) leaks=full ;; esac; \
    $(memcheck) \$$test || test \$$? = 77 || { echo \"FAILED: \$$test\"; failed=1; }; done; exit \$$failed"
check-cpp-headers: ; $(RUN) --need g++ cpp/check-headers
check-zig: ; $(TESTS) scripts/check-zig
check-single: ; $(RUN) --need gcc,g++ scripts/check-single
check-install: ; $(RUN) --need cmake,ninja,pkg-config scripts/check-install
check-fast-path: ; $(RUN) --need gcc,objdump c/tests/check-fast-path
# The resident memory of long runs must stay flat.
check-soak: ; $(RUN) --need gcc "bench/soak/run $(if $(FULL),200000,1000)"
check-mutants: ; $(RUN) --need gcc "abi/mutants $(call unless_full,--some)"
check-misuse: ; $(TESTS) --need gcc,g++,valgrind "scripts/check-misuse misuse"
check-findings: ; $(TESTS) --need gcc,strip,setcap,setpriv "scripts/check-misuse findings"

# $1: the preset; $2: what it needs; $3: commands before; $4: options of its configuration.
cross = @scripts/check --tests --need $2 $(@:check-%=%) "$3 export CMOCKA_SOURCE=\$$(scripts/cmocka-source); \
  $(call preset,$1,all,$4) $(call unless_full,-E '$(streams)')"
check-aarch64: ; $(call cross,aarch64,aarch64-linux-gnu-gcc)
check-armhf: ; $(call cross,armhf,arm-linux-gnueabihf-gcc)
check-s390x: ; $(call cross,s390x,s390x-linux-gnu-gcc)
check-riscv64: ; $(call cross,riscv64,riscv64-linux-gnu-gcc)
check-m32: ; $(call cross,m32,gcc)
check-musl: ; $(call cross,musl,musl-gcc)
check-mingw: ; $(call cross,mingw,x86_64-w64-mingw32-g++-posix,scripts/wine;,$(left_out))

# ---- the ABI ----

check-vectors: ; $(RUN) "python3 -B abi/model/generate.py --check; python3 -B abi/model/check.py; python3 -B abi/model/spec_examples.py"
check-conformance: ; $(TESTS) --need gcc,g++,cargo,go conformance/run
check-conformance-asan: ; $(TESTS) --need gcc,g++,cargo,go "conformance/run --asan"
check-conformance-broken: ; $(TESTS) --need gcc,g++,cargo,go "conformance/run --broken $(if $(FULL),--all)"
check-differential: ; $(TESTS) --need gcc,cargo "conformance/differential $(if $(FULL),100000000)"
check-differential-fuzz: ; $(TESTS) --need cargo,rustup "$(nightly) conformance/differential --fuzz $(if $(FULL),300,10)"
check-snapshot: ; $(RUN) --need cargo,gcc abi/check-snapshot

# ---- Rust ----

# Nothing is compiled twice here, and a failed test names its line without debug information.
export CARGO_INCREMENTAL := 0
export CARGO_PROFILE_DEV_DEBUG := 0
lines := CARGO_PROFILE_DEV_DEBUG=line-tables-only
CRATES := -p toft -p toft-bumpalo -p toft-pools
BUMPALO := allocator-api2 boxed collections next serde std
comma := ,
space := $(eval) $(eval)
FEATURES := --features toft/allocator-api2,toft/allocator-api2-03,toft/allocator-api2-04,toft/full,toft/hashbrown,toft/serde,toft-pools/derive,toft-pools/serde,$(subst $(space),$(comma),$(BUMPALO:%=toft-bumpalo/%))
rust = $(if $(FULL),PROPTEST_CASES=4096) TOFT_VECTORS=1 cargo
host := $(shell uname -m)-unknown-linux-gnu
others := ui safe_functions
leaking := callbacks callbacks_pools diagnostics drops hook hostile oracle panics process_profile recycler_checked
programs := all $(filter-out $(others),$(patsubst %.rs,%,$(notdir $(wildcard rust/tests/*.rs rust/pools/tests/*.rs))))
tight := $(addprefix --test ,$(filter-out $(leaking),$(programs)))
leaks := $(addprefix --test ,$(leaking))
nightly := scripts/rust-toolchain nightly miri rust-src;
hack := command -v cargo-hack >/dev/null || cargo install --quiet --locked cargo-hack || \
  { echo 'cargo cannot install cargo-hack'; exit 77; };

# Streams are short and few: check-rust-streams has all. The programs that must not compile are in check-rust-ui.
check-rust: ; $(TESTS) --need cargo \
  "export TOFT_SHORT=1 PROPTEST_CASES=32; $(rust) test --locked $(CRATES) $(FEATURES) -- \
  --skip each_misuse_is_refused; cargo run --locked -p toft --example collections --features allocator-api2"
rust_streams := $(addprefix --test ,callbacks_pools frames growth list oracle ordered_streams pool queue recycler \
  scopes shadow shared stack)
check-rust-streams: ; $(TESTS) --need cargo "$(rust) test --locked $(CRATES) $(FEATURES) $(rust_streams)"
check-rust-ui: ; $(TESTS) --need cargo "$(rust) test --locked $(CRATES) $(FEATURES) --test ui"
check-rust-ffi: ; $(TESTS) --need cargo,gcc "$(rust) test --locked -p toft-ffi"
check-rust-loom: ; $(TESTS) --need cargo "$(rust) test --locked --profile loom -p toft-loom"
# Clippy compiles the programs, as cargo-clippy has it do: many dependencies are compiled once.
clippy = CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__ RUSTC_WORKSPACE_WRAPPER=\$$(rustup which clippy-driver || command -v clippy-driver)
check-rust-bevy: ; $(TESTS) --need cargo "minor=\$$(cargo --version | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p'); \
  test \$${minor:-0} -ge 95 || { echo 'Bevy 0.20 requires Rust 1.95'; exit 77; }; \
  export $(clippy); cargo test --locked -p toft-bevy -p bevy_frames; \
  $(if $(FULL),RUSTDOCFLAGS='-D warnings' cargo doc --locked -p toft-bevy --no-deps;) examples/bevy_frames/run"
check-rust-fast-path: ; $(TESTS) --need cargo,objdump rust/asm/check-fast-path
check-rust-features: ; $(TESTS) --need cargo "$(rust) test --locked $(CRATES) --lib --no-default-features; \
  $(hack) cargo hack check --locked $(if $(FULL),--feature-powerset --depth 2,--each-feature) --exclude-features nightly,default,allocator_api $(CRATES); \
  cargo check --locked -p toft --no-default-features --features allocator-api2-03,full; \
  cargo check --locked -p toft --no-default-features --features allocator-api2-04,full; \
  test \$$(cargo tree --locked -p toft -e normal --prefix none | grep -c .) = 1; \
  for crate in toft-bumpalo toft-pools; do \
    test \$$(cargo tree --locked -p \$$crate -e normal --prefix none | grep -c .) = 2; done; \
  cargo package -p toft-derive -p toft -p toft-bumpalo -p toft-pools -p toft-bevy -p toft-cli --allow-dirty --no-verify --exclude-lockfile --quiet"
check-rust-lint: ; $(RUN) --need cargo "cargo clippy --locked $(CRATES) --all-targets $(FEATURES) -p toft-derive \
    -p conformance-client -p conformance-provider -- -D warnings; \
  cargo clippy --locked $(CRATES) --no-default-features -- -D warnings; \
  cargo check --locked -p toft-fuzz; \
  RUSTDOCFLAGS='-D warnings' cargo doc --locked $(CRATES) --no-deps $(FEATURES); rust/check-examples; rust/check-layers"
msrv := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' rust/Cargo.toml)
check-rust-msrv: ; $(RUN) --need cargo,rustup "scripts/rust-toolchain $(msrv); \
  cargo +$(msrv) check --locked $(CRATES) $(FEATURES); cargo +$(msrv) check --locked $(CRATES) --no-default-features"
check-rust-nightly: ; $(RUN) --need cargo,rustup "$(nightly) \
  cargo +nightly run --locked -p toft --example std_collections --features nightly; \
  $(if $(FULL),$(rust) +nightly test --locked -p toft --lib --tests --all-features)"
check-cli: ; $(TESTS) --need cargo,clippy-driver,gcc "$(clippy) cargo test --locked --no-fail-fast -p toft-cli"
# Short streams on processors of 32 bits. Outside the long tier the programs that take longest are left out.
rust_for = rustup target add $1 || exit 77; TOFT_SHORT=1 PROPTEST_CASES=8 TOFT_VECTORS=1 \
  cargo test --locked $(CRATES) $(FEATURES) --target $1 --lib $(addprefix --test ,$2)
on_m32 := $(if $(FULL),$(programs),vectors recycler lease shared strict pool list collections refusal_rounds)
check-rust-m32: ; $(TESTS) --need cargo,rustup,gcc "$(call rust_for,i686-unknown-linux-gnu,$(on_m32))"
# In Node. WASI has no threads, so the main one never returns its cache, and a panic ends the program: tests of both are
# ignored. Node 20 crashed where WASI used its fast calls.
wasi := collections columns columns_hygiene empty_boxes growth list pool queue queue_examples recycler scopes serialization \
  stack unsize
check-rust-wasm: ; $(TESTS) --need cargo,rustup,node "export TOFT_ALLOW_LEAKS=1 \
  CARGO_TARGET_WASM32_WASIP1_RUNNER='node --no-warnings --no-turbo-fast-api-calls $(CURDIR)/rust/run-wasi.mjs'; \
  $(call rust_for,wasm32-wasip1,$(wasi))"
check-rust-arm: ; $(TESTS) --need cargo,rustup,qemu-arm,arm-linux-gnueabihf-gcc \
  "export CARGO_TARGET_ARMV7_UNKNOWN_LINUX_GNUEABIHF_LINKER=arm-linux-gnueabihf-gcc \
  CARGO_TARGET_ARMV7_UNKNOWN_LINUX_GNUEABIHF_RUNNER='qemu-arm -L /usr/arm-linux-gnueabihf'; \
  $(call rust_for,armv7-unknown-linux-gnueabihf,$(wasi) all drops frames lease vectors)"
check-rust-kani: ; $(RUN) --need cargo "command -v cargo-kani || { echo 'no Kani: proofs/README.md describes how to get it'; exit 77; }; \
  cargo kani --locked -p toft --features full --output-format terse"
check-rust-bare: ; $(RUN) --need cargo,rustup "rustup target add thumbv7em-none-eabihf || exit 77; \
  cargo check --locked $(CRATES) --no-default-features $(FEATURES) --target thumbv7em-none-eabihf"

# The programs named above deliberately leak values that are never dropped. The first of the lists only varies numbers:
# other programs make its calls under Miri in a tenth of the time.
miri = for test in $2; do leaks=; case ' $(leaking) ' in *\" \$$test \"*) leaks=-Zmiri-ignore-leaks ;; esac; \
  MIRIFLAGS=\"$1 \$$leaks -Zmiri-disable-isolation\" PROPTEST_CASES=2 RUST_BACKTRACE=0 TOFT_VECTORS=1 \
  cargo +nightly miri test --locked $(CRATES) $(FEATURES) --test \$$test; done
check-rust-miri: ; $(TESTS) --need cargo,rustup \
  "$(nightly) $(call miri,-Zmiri-tree-borrows,$(if $(FULL),$(filter-out oracle,$(programs)),strict))"
check-rust-miri-stacked: ; $(TESTS) --need cargo,rustup \
  "$(nightly) $(call miri,,$(filter-out oracle diagnostics shadow,$(programs)))"

sanitized = $(lines) RUSTFLAGS='-Zsanitizer=$1 --cfg toft_plain_heap' PROPTEST_CASES=128 TOFT_VECTORS=1 \
  cargo +nightly test --locked $(CRATES) $(FEATURES) --target $(host) -Zbuild-std
check-rust-asan: ; $(TESTS) --need cargo,rustup "$(nightly) $(call sanitized,address) $(tight); \
  ASAN_OPTIONS=detect_leaks=0 $(call sanitized,address) $(leaks)"
check-rust-tsan: ; $(TESTS) --need cargo,rustup "$(nightly) $(call sanitized,thread) $(tight) $(leaks)"
under_valgrind = $(lines) CARGO_TARGET_$(shell echo $(host) | tr a-z- A-Z_)_RUNNER='valgrind -q --error-exitcode=99 --leak-check=$1 \
  --errors-for-leak-kinds=definite,indirect --fair-sched=yes' RUSTFLAGS='--cfg toft_plain_heap' PROPTEST_CASES=6 \
  TOFT_SHORT=1 TOFT_VECTORS=1 cargo test --locked $(CRATES) $(FEATURES)
check-rust-valgrind: ; $(TESTS) --need cargo,valgrind "$(call under_valgrind,full) $(tight); $(call under_valgrind,no) $(leaks)"
check-rust-fuzz: ; $(RUN) --need cargo,rustup "$(nightly) for target in rust/fuzz/fuzz_targets/*.rs; do \
  RUSTFLAGS='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Zsanitizer=address -Cdebug-assertions' \
  cargo +nightly run --locked --profile fuzz -p toft-fuzz --target $(host) --bin \$$(basename \$$target .rs) -- \
    -max_total_time=$(if $(FULL),300,10) -artifact_prefix=build/logs/; done"

# ---- the command ----

check-cli-report: ; $(TESTS) --need cargo,gcc cli/check-report

# ---- Go ----

go_test = cd go && go test -v -count=1 -timeout=3000s $(call unless_full,-short)
check-go: ; $(TESTS) --need go,gcc "cd go && go vet ./... && \
  CGO_CFLAGS='-O2 -Wall -Wextra -Wno-unused-parameter -Werror' go build ./... && go test -v -count=1 -timeout=600s ./... && cd cgoparam && go vet . && go test -v -count=1 ."
# The race detector comes with checkptr, and with it Go has the leases of lease_cas.go.
check-go-race: ; $(TESTS) --need go,gcc "export GOEXPERIMENT=cgocheck2; $(go_test) -race ./... && cd cgoparam && go test -v -count=1 -race -short ."
check-go-cgocheck2: ; $(TESTS) --need go,gcc "export GOEXPERIMENT=cgocheck2; $(go_test) ./..."
check-go-asan: ; $(TESTS) --need go,gcc "export ASAN_OPTIONS=detect_leaks=1; $(go_test) -asan $(if $(FULL),./...,.)"
check-go-portable: ; $(TESTS) --need go,gcc "$(go_test) -tags=toft_portable ./..."
check-go-user: ; $(RUN) --need go,gcc scripts/check-go-user
check-go-nocgo: ; $(TESTS) --need go "export CGO_ENABLED=0; $(go_test) ./pool ./internal/offheap && \
  for system in darwin/arm64 $(if $(FULL),windows/amd64 freebsd/amd64 linux/386); do \
    GOOS=\$${system%/*} GOARCH=\$${system#*/} go vet ./pool; done"
# Under Wine, whose versions before 9 lack a library that Go loads.
wine_dlls := build/wine/drive_c/windows/system32
check-go-windows: ; $(TESTS) --need go,x86_64-w64-mingw32-gcc-posix "scripts/wine; \
  test -e $(wine_dlls)/bcryptprimitives.dll || x86_64-w64-mingw32-gcc-posix -shared -Wall -Wextra -Werror \
    scripts/bcryptprimitives.c -ladvapi32 -o $(wine_dlls)/bcryptprimitives.dll; \
  export CGO_ENABLED=1 GOOS=windows GOARCH=amd64 CC=x86_64-w64-mingw32-gcc-posix CGO_LDFLAGS='-O2 -g -static'; \
  $(go_test) -exec=$(CURDIR)/scripts/wine ./... && go vet ./..."
check-go-m32: ; $(TESTS) --need go,gcc "export GOARCH=386 CGO_ENABLED=1 \
  CC='gcc -m32 -idirafter /usr/include/x86_64-linux-gnu'; $(go_test) ./..."
check-go-arm64: ; $(TESTS) --need go,qemu-aarch64,aarch64-linux-gnu-gcc "export GOARCH=arm64 CGO_ENABLED=1 \
  CC=aarch64-linux-gnu-gcc; $(go_test) '-exec=qemu-aarch64 -L /usr/aarch64-linux-gnu' ./..."
check-go-arm: ; $(TESTS) --need go,qemu-arm,arm-linux-gnueabihf-gcc "export GOARCH=arm CGO_ENABLED=1 \
  CC=arm-linux-gnueabihf-gcc; $(go_test) '-exec=qemu-arm -L /usr/arm-linux-gnueabihf' ./..."
# By count: up to Go 1.26 the end of a time may be reported as a failure (golang/go#75804).
check-go-fuzz: ; $(RUN) --need go,gcc "cd go && for folder in . pool; do \
  for name in \$$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' \$$folder/*_test.go); do \
  go test '-run=^$$' -fuzz=^\$$name\$$ -fuzztime=$(if $(FULL),150000x,500x) -fuzzminimizetime=20x ./\$$folder; done; done"
check-go-examples: ; $(TESTS) --need go,gcc,cargo "examples/relay/build; for folder in sqlite relay; do cd examples/\$$folder; \
  go test -v -count=1 -short -race ./... && GOEXPERIMENT=cgocheck2 TOFT_DEBUG=1 go test -v -count=1 -short ./... && \
  go test -v -count=1 -short -asan ./...; cd ../..; done"

# ---- Julia ----

julia = julia/check $(@:check-%=%)
check-julia check-julia-pkg check-julia-nolib check-julia-xmltree check-julia-long check-julia-bounds:
	$(TESTS) --need gcc "$(julia)"

# ---- programs, pages, formatting ----

check-python-user: ; $(TESTS) --need python3,gcc,cargo "examples/check python-user"
check-relay: ; $(TESTS) --need go,gcc,cargo "examples/check relay"
check-programs: ; $(TESTS) --need gcc,valgrind,pkg-config "examples/check programs"
# Its own target directories: it does not wait for Cargo's other checks.
check-oxc-parser: ; $(TESTS) --need cargo "examples/oxc_parser/run --test"
check-report: ; $(TESTS) "python3 -B bench/test_report.py build/report"
# Debian 12 has no CBMC, and no distribution has GenMC: proofs/README.md.
check-proofs: ; $(TESTS) "proofs/check cbmc"
check-interleavings: ; $(TESTS) "proofs/check genmc"
check-snippets: ; $(RUN) scripts/check-snippets
check-copies: ; $(RUN) scripts/check-copies
check-docs: ; $(RUN) --need mkdocs,doxygen,cargo "docs/site/check-pages; docs/site/build; docs/site/check-search"
check-dist: ; $(TESTS) --need cargo,go,cmake,ninja,dpkg-shlibdeps packaging/check-dist
check-format: ; $(RUN) "scripts/lint format"
check-lint: ; $(RUN) "scripts/lint analysis"

format:
	@scripts/bootstrap test
	@. scripts/paths; scripts/lint --fix

# ---- other targets ----

run:
	@scripts/bootstrap run
	@. scripts/paths; examples/run

bench:
	@scripts/bootstrap bench
	@. scripts/paths; bench/run $(WORKLOAD)

docs:
	@scripts/bootstrap docs
	@. scripts/paths; docs/site/build

dist:
	@scripts/bootstrap dist
	@. scripts/paths; packaging/dist

clean:
	rm -rf build
