"""The files of the tree: those that git tracks or would track, so that a new file is included before it is added.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import functools
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GENERATED = re.compile(r"^go/toft\.[ch]$|^go/internal/ctest/second_copy\.c$|Cargo\.lock$|go\.sum$|^abi/vectors/")
PYTHON = "#!/usr/bin/env python3"


def git(*argv):
    return subprocess.run(["git", *argv], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


@functools.lru_cache(None)
def texts():
    """{name: text} of all files."""
    names = git("ls-files", "--cached", "--others", "--exclude-standard").split("\n")
    return {name: (ROOT / name).read_text(errors="replace") for name in sorted(set(names)) if name and (ROOT / name).is_file()}


def named(pattern, without=r"(?!)"):
    return [name for name in texts() if re.search(pattern, name) and not re.search(without, name)]


def c():
    return named(r"\.(c|h|cc|hpp|cpp)$", r"^go/toft\.[ch]$")


def shell():
    return [name for name, text in texts().items() if re.match(r"#!.*\b(bash|sh)\n", text)]


def python():
    return [name for name, text in texts().items() if name.endswith(".py") or text.startswith(PYTHON)]


def lines_with(pattern, names):
    """'NAME:LINE: TEXT' of each line that the pattern is found in."""
    found = re.compile(pattern)
    for name in names:
        for number, line in enumerate(texts()[name].split("\n"), 1):
            if found.search(line):
                yield "%s:%d: %s" % (name, number, line.strip())
