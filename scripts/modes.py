"""The modes of scripts/test: ways to build and run the tests, and checks of other things.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import pathlib
import re
import shutil
import subprocess

import conformancemodes  # these import this file: nobody uses another before all()
import cppmodes
import examplemodes
import gomodes
import juliamodes
import misusemodes
import rustmodes
import targets

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "test"
FULL = os.environ.get("FULL") == "1"
CI = os.environ.get("CI") == "true"
WARNINGS = "-Wall -Wextra -Wconversion -Wshadow"
SECONDS = 3600 if FULL else 300  # for one test program
LONG = "test_(vectors|(meter_)?streams|rounds)"  # these take longest, and have one thread


class Unavailable(Exception):
    """This mode cannot run here."""


class Broken(Exception):
    """This mode failed before it could count tests."""


class Mode:
    """optional: it may be unavailable even in CI, outside the full tier."""

    def __init__(self, name, work, optional=False):
        self.name, self.work, self.optional = name, work, optional
        self.passed = self.failed = 0
        self.folder, self.log = OUT / name, OUT / (name + ".log")

    def run(self):
        OUT.mkdir(parents=True, exist_ok=True)
        self.log.write_text("")
        self.work(self)

    def command(self, argv, env=None, cwd=ROOT):
        """Runs it into the log. Returns (exit code, what it printed)."""
        with open(self.log, "a") as log:
            log.write("+ %s\n" % " ".join(map(str, argv)))
        done = subprocess.run([str(a) for a in argv], cwd=cwd, env=dict(os.environ, **(env or {})), text=True,
                              errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        with open(self.log, "a") as log:
            log.write(done.stdout)
        return done.returncode, done.stdout

    def must(self, argv, what, **how):
        if self.command(argv, **how)[0] != 0:
            raise Broken(what)

    def check(self, argv, **how):
        """A command that is one test."""
        code, text = self.command(argv, **how)
        self.passed += code == 0
        self.failed += code != 0
        return text

    def show_failures(self):
        def program(line):  # ctest runs two at a time and numbers their lines
            number = re.match(r"(\d+): ", line)
            return int(number[1]) if number else 0
        lines = sorted(self.log.read_text().splitlines(), key=program)
        telling = [n for n, line in enumerate(lines) if not line.startswith("-- ") and re.search(
            r"FAILED|--- FAIL|Test Failed|Error During Test|panicked at|SURVIVES|DOES NOT APPLY|\*\*\*|\berror:|ERROR|WARNING: Thread|runtime error|Traceback|^Diff in", line)]
        if telling:
            near = sorted({k for n in telling[:20] for k in range(max(n - 2, 0), min(len(lines), n + 3))})
            lines = [lines[k] for k in near]
        for line in lines[-30:]:
            print("    " + line)
        print("    all of it: %s" % self.log.relative_to(ROOT), flush=True)


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Unavailable("no %s: scripts/bootstrap installs it" % program)


# ---- the C tests, built one way or another ----

def count(mode, text):
    """Counts tests in the output of ctest -V: cmocka's lines, and programs that died without a word."""
    ok, bad = {}, {}
    for line in text.splitlines():
        inside = re.match(r"(\d+): (.*)", line)
        if inside:
            n, said = int(inside[1]), inside[2]
            failures = re.match(r"\[  FAILED  \] (\d+) test\(s\)", said)
            if said.startswith("[       OK ]"):
                ok[n] = ok.get(n, 0) + 1
            elif failures:
                bad[n] = bad.get(n, 0) + int(failures[1])
        result = re.match(r"\s*\d+/\d+ Test\s+#(\d+): \S+ \.*(.*)", line)
        if result and not re.search(r"Passed|Skipped", result[2]):
            bad.setdefault(int(result[1]), 1)
    mode.passed += sum(ok.values())
    mode.failed += sum(bad.values())


def build(mode, cc, cxx=None, flags="-O2", options=()):
    need("cmake", "ninja", cc, *([cxx] if cxx else []))
    configure = ["cmake", "-S", ROOT / "c", "-B", mode.folder, "-G", "Ninja", "-DTOFT_TESTS=ON",
                 "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_COMPILER=" + cc, "-DCMAKE_C_FLAGS=%s %s" % (flags, WARNINGS)]
    if cxx:
        configure += ["-DCMAKE_CXX_COMPILER=" + cxx, "-DCMAKE_CXX_FLAGS=%s %s" % (flags, WARNINGS)]
    else:
        configure += ["-DTOFT_TESTS_CXX=OFF"]
    mode.must(configure + list(options), "cmake")
    mode.must(["cmake", "--build", mode.folder, "-j", "2"], "the build")


def play(mode, env=None, leave=None):
    """Runs the tests that were built, but for those whose names match leave."""
    run = ["ctest", "-V", "-j2", "--timeout", SECONDS]
    run += ["-E", leave] if leave else []
    code, text = mode.command(run, cwd=mode.folder, env=dict(env or {}, TOFT_LONG="1" if FULL else "0"))
    count(mode, text)
    if code != 0 and mode.failed == 0:
        raise Broken("ctest")
    if mode.passed == 0:
        raise Broken("no test ran")


def c_tests(cc, cxx, flags="-O2", options=(), env=None, leave=None):
    def work(mode):
        build(mode, cc, cxx, flags, options)
        play(mode, env, leave=leave)
    return work


def valgrind(mode):
    need("valgrind")
    run = "valgrind;-q;--error-exitcode=99;--leak-check=full;--fair-sched=yes;" \
          "--errors-for-leak-kinds=definite,indirect,possible"
    build(mode, "gcc", flags="-O1 -g", options=["-DTOFT_TEST_RUN=" + run])
    play(mode, leave=None if FULL else LONG)


# ---- other checks ----

def script(*commands, needs=()):
    """A mode that runs scripts, each one test. A script that is not there makes the mode unavailable."""
    def work(mode):
        need(*needs)
        for argv in commands:
            if not (ROOT / argv[0]).exists():
                raise Unavailable("there is no %s" % argv[0])
        for argv in commands:
            mode.check([ROOT / argv[0]] + list(argv[1:]))
    return work


def python(*commands):
    def work(mode):
        for argv in commands:
            mode.check(["python3", "-B", ROOT / argv[0]] + list(argv[1:]))
    return work


def mutants(mode):
    """Each rule that a mutation breaks is a test: a vector must have noticed."""
    text = mode.check([ROOT / "scripts/mutants"] + ([] if FULL else ["--some"]))
    counted = re.search(r"^(\d+) rules, (\d+) not killed$", text, re.M)
    if counted:
        rules, alive = int(counted[1]), int(counted[2])
        mode.passed, mode.failed = rules - alive, max(alive, mode.failed)


def report(mode):
    """The page of all benchmarks, opened in a browser."""
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        raise Unavailable("no chromium: scripts/bootstrap test installs it")
    _, text = mode.command(["python3", "-B", ROOT / "bench/test_report.py", mode.folder])
    ran = re.search(r"^Ran (\d+) tests?", text, re.M)
    if not ran or ran[1] == "0":
        raise Broken("bench/test_report.py")
    mode.failed = sum(map(int, re.findall(r"(?:failures|errors)=(\d+)", text)))
    mode.passed = int(ran[1]) - mode.failed


def all():
    sanitize = "-fno-sanitize-recover=all -fno-omit-frame-pointer -g"
    return [
        Mode("copies", script(["scripts/check-copies"])),
        Mode("gcc", c_tests("gcc", "g++")),
        Mode("clang-shared", c_tests("clang-14", "clang++-14", options=["-DBUILD_SHARED_LIBS=ON"])),
        Mode("asan", c_tests("clang-14", "clang++-14", "-O1 -fsanitize=address,undefined,float-cast-overflow " + sanitize,
                             env={"ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1"})),
        Mode("tsan", c_tests("clang-14", "clang++-14", "-O1 -fsanitize=thread " + sanitize,
                             env={"TSAN_OPTIONS": "die_after_fork=0:halt_on_error=1"}, leave=LONG)),
        Mode("valgrind", valgrind),
        Mode("vectors", python(["abi/model/generate.py", "--check"], ["abi/model/check.py"],
                               ["abi/model/spec_examples.py"])),
        Mode("single", script(["scripts/check-single"], needs=["gcc", "g++", "clang-14", "clang++-14"])),
        Mode("install", script(["scripts/check-install"], needs=["cmake", "ninja", "pkg-config"])),
        Mode("fast-path", script(["scripts/check-fast-path"])),
        Mode("snapshot", script(["scripts/check-snapshot"], needs=["cargo", "gcc"])),
        Mode("snippets", script(["scripts/check-snippets"])),
        Mode("mutants", mutants),
        Mode("report", report),
        Mode("lint", script(["scripts/lint"])),
    ] + cppmodes.all() + gomodes.all() + rustmodes.all() + juliamodes.all() + conformancemodes.all() + \
        examplemodes.all() + misusemodes.all() + targets.make()
