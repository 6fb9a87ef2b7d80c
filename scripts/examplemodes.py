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


def all():
    return [modes.Mode("python-user", python_user), modes.Mode("relay", relay)]
