"""Rows and marks of W6 and W7: real programs on each malloc and on Toft. A case is a program in one way of running it, and
the compared figure: processor time of a process's first round and of later ones, the most memory it ever held with its
libraries and its input, page faults of a round.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import importlib.machinery
import importlib.util
import os
import statistics
import sys

import litter
from figures import plain
from native import version

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "examples")
sys.path.insert(0, EXAMPLES)
import programs  # noqa: E402

LEAST_SHARE = 99  # % of the requests that blocks of Toft must serve
CLEARLY = 1.5  # page faults vary: this factor counts as a win
LITTERED_PASSES = 3  # at most: littering takes longer than most programs


# ---- building and measuring ----

def example(name):
    """The run of a folder of examples/, as a module."""
    loader = importlib.machinery.SourceFileLoader("run_" + name, os.path.join(EXAMPLES, name, "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def compilers(bench):
    return {bench.cc: version(bench.cc.split())}


def rows_of(workload, name, case, program, bench):
    def row(what, contender, unit, values, **more):
        return {"workload": workload, "case": "%s, %s" % (name, what), "contender": contender, "language": program.language,
                "unit": unit, "median": statistics.median(values), "min": min(values), "max": max(values),
                "rounds": len(values), "n": 1, "verified": True, "values": values, **more}

    contenders = programs.contenders_of(program, case, bench.mallocs, bench.quick)
    passes = bench.passes or program.passes[bench.quick]
    if bench.littered:
        passes = min(passes, LITTERED_PASSES)
        litter.record(bench, ["1" if word == "ROUNDS" else word for word in case.malloc])
        for c in contenders:
            c.preload = litter.preload(bench, c.preload)
    programs.measure(contenders, passes, "%s, %s" % (workload, name))
    found = []
    for c in contenders:
        sure = {"hash": programs.same(contenders, name)}
        if bench.littered:
            if "littered" not in c.other:
                bench.stop("%s: %s did not litter its heap" % (name, c.name))
            sure.update(litter.fields(c.other["littered"]))
        if c.first:
            found.append(row("first", c.name, "ns", c.first, **sure))
        found.append(row("again", c.name, "ns", c.again, wall=statistics.median(c.wall), **sure,
                         parts=dict(zip(c.names, map(c.part, c.names)))))
        if not bench.littered:
            found.append(row("peak", c.name, "MiB", [kib / 1024 for kib in c.peaks]))
        if c.faults_first:
            found.append(row("first faults", c.name, "faults", c.faults_first))
        found.append(row("again faults", c.name, "faults", c.faults_again))
    if case.count and not bench.littered:
        requests, served = programs.share_of(case)
        share = 100 * served / requests
        found.append(dict(row("served", "toft", "%", [share], allocs=requests), verified=share >= LEAST_SHARE))
    return found


def rows(workload, all_programs, bench):
    found = []
    try:
        for program in (p for p in all_programs if bench.only in ("", "rounds", p.name)):
            for case in program.cases:
                name = program.name if len(program.cases) == 1 else "%s %s" % (program.name, case.name)
                print("bench: %s, %s" % (workload, name), file=sys.stderr)
                found += rows_of(workload, name, case, program, bench)
    except programs.Failure as failure:
        bench.stop("%s: %s" % (workload, failure))
    return found


# ---- marks ----

EXTRAS = {"wall": "ns"}


def within(t, case, limit):
    """A mark of the recommended contender, the first of Toft in a case."""
    s = next((s for s in t.standings() if s.case == case), None)
    measured = "%s / %s %s = %s" % (plain(s.value, s.unit), plain(s.best, s.unit), s.rival, s.ratio) if s else "-"
    return "%s: at most %.3g of the best malloc's" % (case, limit), measured, s is not None and s.share <= limit


def served_marks(t):
    for case, share in ((case, t.median(case, "toft")) for case in t.cases if case.endswith(", served")):
        yield "%s: at least %d %% of all requests, from Toft's blocks" % (case, LEAST_SHARE), "%.3f %%" % share, share >= LEAST_SHARE


def programs_of(t):
    return list(dict.fromkeys(case.rpartition(", ")[0] for case in t.cases))
