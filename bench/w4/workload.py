"""W4: indexed pools, and lists, stacks, queues, ordered sets and dictionaries on them. Prints the results.

A language is a module with LANGUAGE, default, compilers, build, rows and marks, as in_julia.py; its rows have contenders
of Toft, floors, and rivals, among them Allocators.jl itself (original) and what the language has.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import in_julia  # noqa: E402
import in_rust  # noqa: E402
from table import is_ours  # noqa: E402

LANGUAGES = [in_julia, in_rust]


def compilers(bench):
    return {name: version for language in LANGUAGES for name, version in language.compilers(bench).items()}


def build(bench):
    for language in LANGUAGES:
        language.build(bench)


def rows(bench):
    return [row for language in LANGUAGES for row in language.rows(bench)]


TITLE = "indexed pools, Julia"
GROUP = "language"
EXTRAS = {"allocs": "", "gc_ns": "ns", "held": "B"}


def kinds(t, case):
    """Toft's fastest kind, and the package's default."""
    language = next(one for one in LANGUAGES if one.LANGUAGE == t.group)
    found = dict.fromkeys((t.best(case, is_ours)[1], language.default(case)))
    return [c for c in found if (case, c) in t.row]


def all_marks(tables):
    for t in tables:
        for mark, measured, met in next(one for one in LANGUAGES if one.LANGUAGE == t.group).marks(t):
            yield "%s: %s" % (t.group, mark), measured, met
