"""The modes of scripts/test for the examples that no package's modes run.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import pathlib
import re

import gomodes
import modes

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


def python_user(mode):
    """A user of the ABI in Python, on C's arenas and on Rust's: the vectors are one test for each."""
    modes.need("python3", "gcc", "cargo")
    code, text = mode.command([EXAMPLES / "python_user/run", "--test"], env={"BUILD": str(mode.folder), "CC": "gcc"})
    ran = re.search(r"^Ran (\d+) tests? in ", text, re.M)
    if not ran:
        raise modes.Broken("no test ran")
    mode.failed += len(re.findall(r"^(?:FAIL|ERROR): ", text, re.M))
    mode.passed += max(int(ran[1]) - mode.failed, 0)
    if code != 0 and mode.failed == 0:
        raise modes.Broken("the tests ended with %d" % code)
    shown = mode.check([EXAMPLES / "python_user/run", EXAMPLES], env={"BUILD": str(mode.folder), "CC": "gcc"})
    mode.failed += "given back at once" not in shown


def relay(mode):
    """Go, C and Rust in one arena: the same answers as with copies and as Go's alone, and everything goes back."""
    modes.need("go", "gcc", "cargo")
    folder = EXAMPLES / "relay"
    mode.must([folder / "build"], "the build of Rust's half")
    mode.check(["go", "vet", "./..."], cwd=folder)
    gomodes.play(mode, folder=folder)
    for way in ("both", "arena", "copies"):
        shown = mode.check([folder / "run", "-rounds", "3", "-way", way])
        mode.failed += "All went back" not in shown


# name, compiler, its flags, what runs it, and where memory runs out in its tests: every so many requests
PROGRAM_BUILDS = [
    ("gcc", "gcc", "-O2", [], 17),
    ("asan", "clang-14", "-O1 -g -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all"
     " -fno-omit-frame-pointer", [], 101),
    ("valgrind", "gcc", "-O1 -g", ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full",
                                   "--errors-for-leak-kinds=definite,indirect,possible"], 1499),
]


def programs(mode):
    """SQLite and Lua on Toft: the tests of their adapters, and each program on malloc and on Toft, with the same answers."""
    modes.need("make", "gcc", "clang-14", "valgrind", "pkg-config")
    for name, cc, flags, run, step in PROGRAM_BUILDS:
        for program in ("sqlite_memory", "lua"):
            build = mode.folder / name / program
            mode.must(["make", "-f", EXAMPLES / program / "Makefile", "test", "BUILD=%s" % build, "CC=" + cc,
                       "CFLAGS=%s -Werror" % flags], "the build of %s by %s" % (program, name))
            test = next(build.glob("test_*_toft"))
            code, text = mode.command(run + [test], env={"TOFT_STEP": "1" if modes.FULL and not run else str(step)})
            mode.passed += len(re.findall(r"^\[       OK \]", text, re.M))
            failures = len(re.findall(r"^\[  FAILED  \] \w+$", text, re.M)) // 2
            mode.failed += failures or code != 0
    same_answers(mode, "sqlite", [mode.folder / "asan/sqlite_memory/sqlite_script"], sqlite_arguments(mode))
    for way in ("incremental", "generational"):
        same_answers(mode, "lua", [mode.folder / "asan/lua/lua_script"], [
            way, EXAMPLES / "lua/script.lua", "1", EXAMPLES.parent / "abi/vectors/marks.json", EXAMPLES.parent / "CONTRIBUTING.md"])


def sqlite_arguments(mode):
    """A table of few characters."""
    table = mode.folder / "characters.tsv"
    mode.must(["python3", "-B", EXAMPLES / "sqlite_memory/characters.py", mode.folder / "all.tsv"], "the table")
    with open(mode.folder / "all.tsv") as f:
        table.write_text("".join(line for n, line in enumerate(f) if n < 4000))
    return [mode.folder / "characters.db", EXAMPLES / "sqlite_memory/script.sql", table, "2"]


def same_answers(mode, what, program, arguments):
    """On malloc and on Toft; and what Toft is asked comes from its blocks."""
    said = [mode.check(program + flags + arguments) for flags in ([], ["--toft"], ["--toft-heap"], ["--toft", "--count"])]
    hashes = [re.search(r"^total (\w+) ", text, re.M) for text in said[:3]]
    if None in hashes or len({found[1] for found in hashes}) != 1:
        raise modes.Broken("%s on malloc and on Toft gave different answers" % what)
    requests, calls, held = map(int, re.search(r"^counted (\d+) (\d+) (\d+)$", said[3], re.M).groups())
    mode.passed += 1
    mode.failed += held != 0 or 100 * calls > requests


def all():
    return [modes.Mode("python-user", python_user), modes.Mode("relay", relay), modes.Mode("programs", programs)]
