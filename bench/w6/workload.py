"""W6: the trees of two parsers, those of examples/documents, and the results of a plugin, those of examples/plugin, in memory
of each malloc and in arenas.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os

import program_rows
from program_rows import CLEARLY, EXTRAS, compilers, programs, programs_of, within  # noqa: F401

GROUP = None


def build(bench):
    try:
        bench.w6 = [program_rows.example(name).program(os.path.join(bench.build, "w6", name), bench.cc)
                    for name in ("documents", "plugin")]
    except programs.Failure as failure:
        bench.stop("W6: %s" % failure)


def rows(bench):
    return program_rows.rows("W6", bench.w6, bench)


def here(_):
    return []


def all_marks(tables):
    t, = tables
    for name in programs_of(t):
        for what, limit in (("first", 1.03), ("again", 1.03), ("peak", 1.03), ("first faults", 1 / CLEARLY)):
            case = "%s, %s" % (name, what)
            if case in t.cases:
                yield within(t, case, limit)
    yield from program_rows.served_marks(t)
