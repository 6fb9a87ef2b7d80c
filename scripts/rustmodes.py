"""The modes of scripts/test for the Rust crate.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import pathlib
import platform
import re
import subprocess
import threading

import modes

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUST = ROOT / "rust"
DERIVE = RUST / "derive"
TARGET = ROOT / "build" / "rust"
HOST = platform.machine() + "-unknown-linux-gnu"
FEATURES = ["--features", "allocator-api2,derive,hashbrown,serde"]
MSRV = re.search(r'^rust-version = "(.*)"$', (RUST / "Cargo.toml").read_text(), re.M)[1]


def count(mode, text):
    """Counts tests in the output of cargo test, and programs that died without a word."""
    for passed, failed in re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed", text, re.M):
        mode.passed += int(passed)
        mode.failed += int(failed)
    mode.failed += len(re.findall(r"^error: test failed.*\n\nCaused by:\n  process didn't exit", text, re.M))


def environment(folder, env):
    set_ = {"CARGO_TARGET_DIR": str(TARGET / folder), "CARGO_TERM_COLOR": "never", "TOFT_VECTORS": "1"}
    if modes.FULL:
        set_.update(TOFT_LONG="1", PROPTEST_CASES="4096")
    return dict(set_, **(env or {}))


def cargo(mode, folder, *arguments, env=None, cwd=RUST):
    """Tests, counted."""
    modes.need("cargo")
    code, text = mode.command(["cargo", *arguments], cwd=cwd, env=environment(folder, env))
    count(mode, text)
    if code != 0 and mode.failed == 0:
        raise modes.Broken("cargo " + " ".join(arguments))
    if mode.passed == 0:
        raise modes.Broken("no test ran")


def check(mode, folder, *arguments, env=None, cwd=RUST):
    """One command that is one test."""
    return mode.check(["cargo", *arguments], cwd=cwd, env=environment(folder, env))


def need_toolchain(mode, name, *components):
    """A toolchain of rustup's; fetched where it, or a component, is missing."""
    modes.need("cargo", "rustup")
    with fetching:
        fetch(mode, name, components)


def need_nightly(mode):
    """All modes ask for the same components: else one would renew the toolchain while another works with it."""
    need_toolchain(mode, "nightly", "miri", "rust-src")


fetching = threading.Lock()


def fetch(mode, name, components):
    command = ["rustup", "toolchain", "install", name, "--profile", "minimal", "--no-self-update"]
    for component in components:
        command += ["--component", component]
    has = subprocess.run(["rustup", "component", "list", "--installed", "--toolchain", name], capture_output=True, text=True)
    missing = [c for c in components if not re.search("^" + c, has.stdout, re.M)]
    if has.returncode == 0 and not missing:
        return
    code, _ = mode.command(command)
    if code != 0:
        raise modes.Unavailable("no Rust %s with %s, and rustup could not fetch it" % (name, ", ".join(components) or "std"))


def rust(mode):
    """The tests as they are: every feature of a stable compiler, and the documentation's examples."""
    cargo(mode, "stable", "test", "--locked", *FEATURES)
    check(mode, "stable", "run", "--locked", "--example", "collections", *FEATURES)


def ffi(mode):
    """Arenas of the crate in C, and those of libtoft in Rust."""
    modes.need("cargo", "gcc")
    cargo(mode, "ffi", "test", "--locked", cwd=RUST / "ffi")


def features(mode):
    """Each set of features alone; and that the crate depends on nothing."""
    cargo(mode, "stable", "test", "--locked", "--lib", "--no-default-features")
    for features in ("allocator-api2", "derive", "hashbrown", "serde", "std", "allocator-api2,derive,hashbrown,serde"):
        check(mode, "stable", "check", "--locked", "--no-default-features", "--features", features)
    tree = check(mode, "stable", "tree", "--locked", "-e", "normal", "--prefix", "none")
    alone = len([line for line in tree.splitlines() if line.strip()]) == 1
    mode.passed += alone
    mode.failed += not alone
    # Without the lock file, for which toft-derive would have to be published already.
    check(mode, "stable", "package", "--allow-dirty", "--no-verify", "--exclude-lockfile", "--quiet")
    check(mode, "stable", "package", "--locked", "--allow-dirty", "--no-verify", "--quiet", cwd=DERIVE)


def msrv(mode):
    need_toolchain(mode, MSRV)
    check(mode, "msrv", "+" + MSRV, "check", *FEATURES)
    check(mode, "msrv", "+" + MSRV, "check", "--no-default-features")


def bare(mode):
    """A processor without a system: no std is there to be used by mistake."""
    modes.need("cargo", "rustup")
    target = "thumbv7em-none-eabihf"
    if mode.command(["rustup", "target", "add", target])[0] != 0:
        raise modes.Unavailable("rustup could not fetch the target " + target)
    check(mode, "bare", "check", "--locked", "--no-default-features", *FEATURES, "--target", target)


def nightly(mode):
    """The standard library's collections, with the compiler that has their allocators."""
    need_nightly(mode)
    check(mode, "nightly", "+nightly", "run", "--locked", "--example", "std_collections", "--features", "nightly")
    if modes.FULL:
        cargo(mode, "nightly", "+nightly", "test", "--locked", "--lib", "--tests", "--all-features")


def programs():
    """The test programs that Miri and the sanitizers run: not those that compile others or read files, nor bumpalo beside ours."""
    others = ("ui", "bumpalo_program", "from_bumpalo", "safe_functions")
    return sorted(p.stem for p in (RUST / "tests").glob("*.rs") if p.stem not in others)


# These leave values that nobody drops, on purpose: what those own is a leak.
LEAKING = ("callbacks", "callbacks_pools", "diagnostics", "drops", "hook", "hostile", "oracle", "panics", "recycler_checked")


def most(but):
    return [test for test in programs() if test not in but]


def flags_of(names):
    return [flag for name in names for flag in ("--test", name)]


# What these are about is numbers; the calls that they make are made by others under Miri, in a tenth of the time.
NUMBERS = ("oracle",)
# Those take an hour each under the older of the two models; the newer one has them.
LONGEST = NUMBERS + ("diagnostics", "shadow")


def miri(flags, tests):
    def work(mode):
        need_nightly(mode)
        for test in tests:
            leaks = " -Zmiri-ignore-leaks" if test in LEAKING else ""
            cargo(mode, "miri", "+nightly", "miri", "test", "--locked", *FEATURES, "--test", test,
                  env={"MIRIFLAGS": flags + leaks + " -Zmiri-disable-isolation", "PROPTEST_CASES": "2",
                       "RUST_BACKTRACE": "0"})  # each panic's would take Miri seconds
    return work


PLAIN = "--cfg toft_plain_heap"  # the strict allocator of the tests would blind other tools


def sanitizer(name):
    def work(mode):
        need_nightly(mode)
        tight = [test for test in programs() if test not in LEAKING]
        for tests, options in ((tight, ""), (LEAKING, "detect_leaks=0")):
            cargo(mode, name, "+nightly", "test", "--locked", *FEATURES, "--target", HOST, "-Zbuild-std", *flags_of(tests),
                  env={"RUSTFLAGS": "-Zsanitizer=%s %s" % (name, PLAIN), "ASAN_OPTIONS": options, "PROPTEST_CASES": "128"})
    return work


def valgrind(mode):
    modes.need("cargo", "valgrind")
    tight = [test for test in programs() if test not in LEAKING]
    for tests, leaks in ((tight, "full"), (LEAKING, "no")):
        run = "valgrind -q --error-exitcode=99 --leak-check=%s --errors-for-leak-kinds=definite,indirect --fair-sched=yes" % leaks
        cargo(mode, "valgrind", "test", "--locked", *FEATURES, *flags_of(tests),
              env={"CARGO_TARGET_%s_RUNNER" % HOST.upper().replace("-", "_"): run, "RUSTFLAGS": PLAIN, "PROPTEST_CASES": "6",
                   "TOFT_SHORT": "1"})


def fuzz(mode):
    need_nightly(mode)
    folder = RUST / "fuzz"
    seconds = "300" if modes.FULL else "10"
    for target in sorted(p.stem for p in (folder / "fuzz_targets").glob("*.rs")):
        check(mode, "fuzz", "+nightly", "run", "--locked", "--release", "--target", HOST, "--bin", target, "--", "-max_total_time=" + seconds,
              "-artifact_prefix=%s/" % mode.folder.parent, cwd=folder,
              env={"RUSTFLAGS": "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 "
                                "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table "
                                "-Zsanitizer=address -Cdebug-assertions"})


def fast_path(mode):
    modes.need("cargo", "objdump")
    code, text = mode.command([ROOT / "scripts/check-rust-fast-path"], env=environment("asm", None))
    counted = re.search(r"^(\d+) passed, (\d+) failed$", text, re.M)
    if not counted:
        raise modes.Broken("check-rust-fast-path")
    mode.passed, mode.failed = int(counted[1]), int(counted[2])


def loom(mode):
    """Every interleaving of what has no lock: the slots in which idle arenas wait."""
    cargo(mode, "loom", "test", "--locked", "--release", cwd=RUST / "loom")


def bevy(mode):
    """Frames in an engine's scheduler: each of its threads finds its arena empty, a thousand times."""
    modes.need("cargo")
    mode.check([ROOT / "examples/bevy_frames/run"], env=environment("bevy", None))


def lint(mode):
    """rustfmt, clippy and rustdoc, for each crate here."""
    modes.need("cargo")
    for folder in (RUST, DERIVE, RUST / "asm", RUST / "ffi", RUST / "fuzz", RUST / "loom", ROOT / "conformance/rust",
                   ROOT / "bench/measure", ROOT / "bench/w2", ROOT / "bench/w4/rust", ROOT / "examples/bevy_frames",
                   ROOT / "examples/python_user/rust_maker", ROOT / "examples/relay/index"):
        if (folder / "Cargo.toml").exists():
            check(mode, "lint", "fmt", "--check", cwd=folder)
    check(mode, "lint", "clippy", "--locked", "--all-targets", *FEATURES, "--", "-D", "warnings")
    check(mode, "lint", "clippy", "--locked", "--no-default-features", "--", "-D", "warnings")
    check(mode, "lint", "clippy", "--locked", "--", "-D", "warnings", cwd=DERIVE)
    check(mode, "lint", "check", "--locked", cwd=RUST / "fuzz")  # which shares files with the tests, and seldom runs
    check(mode, "lint", "clippy", "--locked", "--", "-D", "warnings", cwd=ROOT / "conformance/rust")
    check(mode, "lint", "doc", "--locked", "--no-deps", *FEATURES, env={"RUSTDOCFLAGS": "-D warnings"})
    mode.check([ROOT / "scripts/check-rust-examples"])
    version = (ROOT / "VERSION").read_text().strip()
    for folder in (RUST, DERIVE):
        stamped = '\nversion = "%s"\n' % version in (folder / "Cargo.toml").read_text()
        mode.passed += stamped
        mode.failed += not stamped
    together = '\ntoft-derive = { version = "=%s", ' % version in (RUST / "Cargo.toml").read_text()
    mode.passed += together
    mode.failed += not together


def all():
    made = [
        modes.Mode("rust", rust),
        modes.Mode("rust-ffi", ffi),
        modes.Mode("rust-loom", loom),
        modes.Mode("rust-bevy", bevy),
        modes.Mode("rust-features", features),
        modes.Mode("rust-lint", lint),
        modes.Mode("rust-fast-path", fast_path),
        modes.Mode("rust-msrv", msrv, optional=True),
        modes.Mode("rust-nightly", nightly, optional=True),
        modes.Mode("rust-miri-tree", miri("-Zmiri-tree-borrows", most(NUMBERS) if modes.FULL else ("strict", "drops")),
                   optional=True),
    ]
    if modes.FULL:
        made += [
            modes.Mode("rust-bare", bare, optional=True),
            modes.Mode("rust-miri-stacked", miri("", most(LONGEST)), optional=True),
            modes.Mode("rust-asan", sanitizer("address"), optional=True),
            modes.Mode("rust-tsan", sanitizer("thread"), optional=True),
            modes.Mode("rust-valgrind", valgrind),
            modes.Mode("rust-fuzz", fuzz, optional=True),
        ]
    return made
