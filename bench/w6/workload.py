"""W6: the trees of two parsers, those of examples/documents, and the results of a plugin, those of examples/plugin, in memory
of each malloc and in arenas.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import os

import program_rows
from program_rows import CLEARLY, Table, compilers, history, programs, standings  # noqa: F401

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


def all_marks(rows_):
    """(mark, what was measured, met)"""
    t = Table(rows_)
    for name in t.names:
        for mark, what, limit in (("no slower than the best malloc (3 %)", ("first", "again"), 1.03),
                                  ("no larger than the best malloc (3 %)", ("peak",), 1.03),
                                  ("page faults of a new process won by %s x" % CLEARLY, ("first faults",), 1 / CLEARLY)):
            found = [t.against(case, limit) for case in ("%s, %s" % (name, w) for w in what) if t.of(case)]
            if found:
                yield "%s: %s" % (name, mark), "; ".join(measured for measured, _ in found), all(met for _, met in found)
    yield from program_rows.served_marks(t)


def table(head, rows_):
    t = Table(rows_)
    print("Processor time of a round, in a new process and in one that continues; the most memory that the process held,")
    print("with its libraries and its input; page faults of a round\n")
    for name in t.names:
        program_rows.print_name(t, name)
    program_rows.print_marks(head, all_marks(rows_))
