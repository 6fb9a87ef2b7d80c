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


GROUP = "language"
EXTRAS = {"allocs": "", "gc_ns": "ns", "held": "B"}


def kinds(t, case):
    """Toft's fastest kind, and the package's default."""
    language = next(one for one in LANGUAGES if one.LANGUAGE == t.group)
    found = dict.fromkeys((t.best(case, is_ours)[1], language.default(case)))
    return [c for c in found if (case, c) in t.row]


def here(rows_):
    """Toft's results next to those that the original published, including minima."""
    found = {(r["case"], r["contender"]): r["min"] for r in rows_ if r["language"] == "Julia"}
    large = next((n for n in (100000, 10000) if ("list p1 %d" % n, "toft fixed") in found), None)
    if large is None:
        return None
    note = "" if large == 100000 else " (of 10,000)"

    def line(case, *contenders):
        values = [found.get(("%s %d" % (case, large), who)) for who in contenders]
        return " / ".join("%.3g" % (v / 1e6) if v else "-" for v in values) + " ms" + note
    lists = ("heap nodes", "toft fixed", "toft columns fixed", "toft free list fixed")
    return [line("list p1", *lists), line("list p100", *lists),
            line("stack p10", "DataStructures", "toft fixed"),
            line("queue p10", "DataStructures", "toft fixed", "toft growing"),
            line("set", "Set", "AVLTrees AVLSet", "heap tree", "toft fixed", "toft free list fixed",
                 "toft columns fixed"),
            line("dict p1", "Dict", "heap tree", "toft free list fixed", "toft columns fixed"),
            line("dict p100", "Dict", "heap tree", "toft columns fixed", "toft fixed")]


def all_marks(tables):
    for t in tables:
        for mark, measured, met in next(one for one in LANGUAGES if one.LANGUAGE == t.group).marks(t):
            yield "%s: %s" % (t.group, mark), measured, met
