"""The modes of scripts/test for the C++ package.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import itertools
import pathlib
import re

import modes

CPP = pathlib.Path(__file__).resolve().parent.parent / "cpp"
GTEST = "/usr/src/googletest/googletest"  # for those builds that the distribution's library does not fit
WARNINGS = "-Wall -Wextra -Wconversion -Wshadow -Werror"
SANITIZE = "-fno-sanitize-recover=all -fno-omit-frame-pointer -g"


def count(mode, text):
    """Counts tests in the output of GoogleTest; a program that died without a word is one that failed."""
    said = re.findall(r"^(?:\d+: )?\[\s+(OK|FAILED) +\] \S+ \(\d+ ms\)|^(?:\d+: )?\[\s+(FAILED) +\] .* \(\d+ ms\)", text, re.M)
    bad = sum("FAILED" in (a, b) for a, b in said)
    mode.passed += len(said) - bad
    mode.failed += bad


def build(mode, cxx, flags, options=()):
    modes.need("cmake", "ninja", *cxx.split()[:1])
    command, *more = cxx.split()
    mode.must(["cmake", "-S", CPP, "-B", mode.folder, "-G", "Ninja", "-DTOFT_CPP_TESTS=ON", "-DCMAKE_BUILD_TYPE=None",
               "-DCMAKE_CXX_COMPILER=" + command, "-DCMAKE_CXX_FLAGS=%s %s" % (" ".join([flags] + more), WARNINGS),
               *options], "cmake")
    mode.must(["cmake", "--build", mode.folder, "-j", "2"], "the build")


def play(mode, wrap=(), env=None, leave=""):
    program = [*wrap, mode.folder / "tests" / "toft_cpp_tests"]
    code, text = mode.command(program + (["--gtest_filter=-" + leave] if leave else []), env=env)
    count(mode, text)
    if code != 0 and mode.failed == 0:
        raise modes.Broken("toft_cpp_tests ended with %d" % code)
    if mode.passed == 0:
        raise modes.Broken("no test ran")


def tests(cxx, flags="-O2", options=("-DTOFT_CPP_EXAMPLES=OFF",), own_gtest=False, env=None, leave=""):
    def work(mode):
        build(mode, cxx, flags, list(options) + (["-DTOFT_GTEST_SOURCE=" + GTEST] if own_gtest else []))
        play(mode, env=env, leave=leave)
    return work


def plain(mode):
    """gcc with its library; the examples, which check what they claim; and where the compiler is not told to optimize."""
    build(mode, "g++", "-O2", ["-DTOFT_CPP_EXAMPLES=ON"])
    play(mode)
    code, text = mode.command(["ctest", "--output-on-failure", "-E", "toft_cpp_tests"], cwd=mode.folder)
    mode.passed += len(re.findall(r"Passed +[\d.]+ sec$", text, re.M))
    mode.failed += len(re.findall(r"\*\*\*(?:Failed|Exception|Timeout|Not Run)", text))
    if code != 0 and mode.failed == 0:
        raise modes.Broken("ctest")


def valgrind(mode):
    modes.need("valgrind")
    build(mode, "g++", "-O1 -g", ["-DTOFT_CPP_EXAMPLES=OFF"])
    play(mode, wrap=["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--fair-sched=yes",
                     "--errors-for-leak-kinds=definite,indirect,possible"],
         leave="" if modes.FULL else "*Oversize*:*Containers*:*Random*:*Model*:*Stream*:*CountedBlocksDoNotSpill*")


# What a header must compile with, alone: both compilers and libraries, with exceptions and without, C++17 and 20.
HEADER_FLAGS = [[["g++"], ["clang++-14"], ["clang++-14", "-stdlib=libc++"]],
                [[], ["-fno-exceptions", "-fno-rtti"]],
                [["-std=c++17"], ["-std=c++20"]]]

NOTHING_THROWN = """#define TOFT_IMPLEMENTATION
#include <toft/toft.hpp>
int main() {
  toft::arena a;
  toft::recycler r;
  toft::pool<int> p;
  toft::lease l = toft::lease::try_get();
  toft::frames f;
  int *n = a.try_make<int>(3);
  void *q = r.try_allocate(100);
  auto h = p.try_emplace(5);
  bool good = n != nullptr && *n == 3 && q != nullptr && h && *p.get(h) == 5;
  good = good && a.try_allocate(SIZE_MAX) == nullptr && r.try_allocate(SIZE_MAX) == nullptr;
  good = good && l && l.give_back() == TOFT_OK && f.try_here() != nullptr && f.advance() == TOFT_OK;
  r.deallocate(q, 100);
  return good && r.stats().used == 0 ? 0 : 1;
}
"""


def headers(mode):
    """Each header alone, twice in one file; the library as C++; and a program without exceptions."""
    modes.need("g++", "clang++-14")
    mode.folder.mkdir(parents=True, exist_ok=True)
    names = sorted(h.name for h in (CPP / "include/toft").glob("*.hpp"))
    for compiler, exceptions, standard in itertools.product(*HEADER_FLAGS):
        base = compiler + exceptions + standard + WARNINGS.split() + ["-Wpedantic", "-I", CPP / "include", "-pthread"]
        libcxx = "-stdlib=libc++" in compiler
        for name in names:
            if name == "pmr.hpp" and libcxx:
                continue  # this libc++ has no <memory_resource>
            source = mode.folder / "alone.cpp"
            source.write_text("#include <toft/%s>\n#include <toft/%s>\n" % (name, name))
            mode.check(base + ["-fsyntax-only", source])
        if standard == ["-std=c++17"]:
            source = mode.folder / "program.cpp"
            source.write_text(NOTHING_THROWN)
            mode.check(base + ["-O2", source, "-o", mode.folder / "program"])
            mode.check([mode.folder / "program"])


def all():
    asan = {"ASAN_OPTIONS": "detect_stack_use_after_return=1"}
    return [
        modes.Mode("cpp", plain),
        modes.Mode("cpp-libcxx", tests("clang++-14 -stdlib=libc++", "-O2", own_gtest=True)),
        modes.Mode("cpp-asan", tests("clang++-14", "-O1 -fsanitize=address,undefined,float-cast-overflow " + SANITIZE, env=asan)),
        modes.Mode("cpp-tsan", tests("clang++-14", "-O1 -fsanitize=thread " + SANITIZE, own_gtest=True,
                                     leave="*Containers/[0-24-7]*:*Oversize*:PoolTest*:SoaPool*")),
        modes.Mode("cpp-valgrind", valgrind),
        modes.Mode("cpp-headers", headers),
        modes.Mode("cpp-install", modes.script(["scripts/check-cpp-install"], needs=["cmake", "ninja", "g++"])),
    ]
