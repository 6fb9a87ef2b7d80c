"""W6: the trees of two parsers, those of examples/documents, and the results of a plugin, those of examples/plugin, in memory
of each malloc and in arenas; and programs that run once.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os
import sys

import program_rows
from program_rows import CLEARLY, compilers, programs, programs_of, within  # noqa: F401

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import once  # noqa: E402

TITLE = "documents"
GROUP = None
EXTRAS = dict(program_rows.EXTRAS, user="ns", system="ns", **{"least system": "ns", "most system": "ns"})


def build(bench):
    try:
        bench.w6 = [program_rows.example(name).program(os.path.join(bench.build, "w6", name), bench.cc)
                    for name in ("documents", "plugin") if bench.only in ("", "rounds", name)]
        bench.once = once.build(bench)
    except programs.Failure as failure:
        bench.stop("W6: %s" % failure)


def rows(bench):
    runs_once = not bench.littered and bench.only not in ("rounds", "documents", "plugin")
    return program_rows.rows("W6", bench.w6, bench) + (once.rows(bench) if runs_once else [])


def all_marks(tables):
    t, = tables
    for name in programs_of(t):
        for what, limit in (("first", 1.03), ("again", 1.03), ("peak", 1.03), ("first faults", 1 / CLEARLY)):
            case = "%s, %s" % (name, what)
            if case in t.cases:
                yield within(t, case, limit)
    yield from once.marks(t)
    yield from program_rows.served_marks(t)
