"""Rows and tables of W6 and W7: real programs on each malloc and on Toft. A case is a program in one way of running it, and
the compared figure: times of a process's first round and of later ones, the most memory it ever held, page faults.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import importlib.machinery
import importlib.util
import os
import statistics
import subprocess
import sys

import litter
from figures import Standing, number, plain, ratio, verdict

EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "examples")
sys.path.insert(0, EXAMPLES)
import programs  # noqa: E402

WHAT = ["first", "again", "peak", "first faults", "again faults"]
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
    said = subprocess.run(bench.cc.split() + ["--version"], capture_output=True, text=True).stdout
    return {bench.cc: said.split("\n")[0]}


def rows_of(workload, name, case, program, bench):
    def row(what, contender, unit, values, **more):
        return {"workload": workload, "case": "%s, %s" % (name, what), "contender": contender, "language": program.language,
                "unit": unit, "median": statistics.median(values), "min": min(values), "max": max(values),
                "rounds": len(values), "n": 1, "verified": True, **more}

    contenders = programs.contenders_of(program, case, bench.mallocs, bench.quick)
    passes = program.passes[bench.quick]
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
        for program in all_programs:
            for case in program.cases:
                name = program.name if len(program.cases) == 1 else "%s %s" % (program.name, case.name)
                print("bench: %s, %s" % (workload, name), file=sys.stderr)
                found += rows_of(workload, name, case, program, bench)
    except programs.Failure as failure:
        bench.stop("%s: %s" % (workload, failure))
    return found


# ---- tables ----

def ours(contender):
    return contender.startswith("toft")


class Table:
    def __init__(self, rows_):
        self.row = {(r["case"], r["contender"]): r for r in rows_}
        self.cases = list(dict.fromkeys(r["case"] for r in rows_))
        self.names = list(dict.fromkeys(case.rpartition(", ")[0] for case in self.cases))

    def of(self, case):
        return {c: r for (k, c), r in self.row.items() if k == case}

    def best_rival(self, case):
        return min(((r["median"], c) for c, r in self.of(case).items() if not ours(c)), default=(None, None))

    def first_of_ours(self, case):
        """The recommended way: it must meet all marks of a program."""
        return next(((r["median"], c) for c, r in self.of(case).items() if ours(c)), (None, None))

    def against(self, case, limit):
        """(measured value, whether Toft is within the limit)"""
        (value, who), (best, rival) = self.first_of_ours(case), self.best_rival(case)
        met = value is not None and best is not None and value <= limit * best
        unit = self.row[case, who]["unit"] if who else ""
        return "%s: %s %s / %s %s = %s" % (case.rpartition(", ")[2], who, plain(value, unit), rival, plain(best, unit),
                                           ratio(value, best)), met


def print_name(t, name):
    found = [(what, t.of("%s, %s" % (name, what))) for what in WHAT]
    found = [(what, of) for what, of in found if of]
    again = t.of(name + ", again")
    if not again:
        return
    print(name)
    print("  %-28s%s%13s" % ("", "".join("%14s" % what for what, _ in found), "wall, again"))
    for c in again:
        wall = again[c].get("wall")
        print("  %-28s%s%13s" % (c, "".join("%14s" % plain(of[c]["median"], of[c]["unit"]).replace(" faults", "")
                                            for _, of in found), plain(wall, "ns") if wall else "-"))
    for c in again:
        if ours(c):
            print("  %-28s%s" % (c + " / best", "".join("%14s" % (ratio(of[c]["median"], best) + " " + verdict(
                of[c]["median"], best)) for (what, of) in found for best in [t.best_rival("%s, %s" % (name, what))[0]])))
    parts = {c: r.get("parts") for c, r in again.items()}
    if all(parts.values()):
        print("  %-28s%s" % ("ms of, again", "".join("%14s" % part for part in parts["glibc" if "glibc" in parts else "toft"])))
        for c, of in parts.items():
            print("  %-28s%s" % (c, "".join("%14s" % number(ns / 1e6) for ns in of.values())))
    for c, r in t.of(name + ", served").items():
        print("  %s: %.3f %% of %d requests served from blocks it had" % (c, r["median"], r.get("allocs", 0)))
    print()


def served_marks(t):
    for name in t.names:
        share = t.row.get((name + ", served", "toft"))
        if share:
            yield ("%s: at least %d %% of all requests served from Toft's blocks" % (name, LEAST_SHARE),
                   "%.3f %%" % share["median"], share["median"] >= LEAST_SHARE)


def standings(rows_):
    t = Table(rows_)
    for (case, c), r in t.row.items():
        best, rival = t.best_rival(case)
        if ours(c) and r["median"] and best:  # zero faults cannot be compared
            yield Standing("", case, c, r["median"], rival, best, r["unit"])


def print_marks(head, marks):
    print("Marks")
    for mark, measured, met in marks:
        print("  %-6s  %s: %s" % ("met" if met else "MISSED", mark, measured))
    print("\n%s; %s; commit %s" % (head["machine"], head["os"], head["commit"]))
    for what in (head["compilers"], head["mallocs"]):
        print("; ".join("%s: %s" % pair for pair in what.items()))
    for who, why in head["left_out"].items():
        print("left out: %s: %s" % (who, why))
    print("command: %s\n" % head["command"])


def history(rows_):
    """The fields of a line of history: times of Toft and of the best rival."""
    t = Table(rows_)
    kept = {}
    for case in t.cases:
        best, rival = t.best_rival(case)
        if rival and next(iter(t.of(case).values()))["unit"] == "ns":
            kept[case] = {c: r["median"] for c, r in t.of(case).items() if ours(c)}
            kept[case][rival] = best
    return {"unit": "ns", "medians": kept}
