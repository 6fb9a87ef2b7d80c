"""W6: real programs, those of examples/, by their allocators' hooks or building their trees in an arena; on each malloc and
on Toft. A case is a program in one way of running it, and what is compared: times of a process's first round and of later
ones, the most memory it ever held, page faults.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import importlib.machinery
import importlib.util
import os
import statistics
import subprocess
import sys

from figures import Standing, number, plain, ratio, verdict

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples")
PROGRAMS = ["sqlite_memory", "lua", "documents"]
LEAST_SHARE = 99  # % of the requests that must come from blocks that Toft has
CLEARLY = 1.5  # page faults swing: so much is a win

sys.path.insert(0, EXAMPLES)
import programs  # noqa: E402


# ---- building and measuring ----

def load(name):
    """The folder's run, as a module."""
    loader = importlib.machinery.SourceFileLoader("run_" + name, os.path.join(EXAMPLES, name, "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def build(bench):
    try:
        bench.w6 = [load(name).program(os.path.join(bench.build, "w6", name), bench.cc) for name in PROGRAMS]
    except programs.Failure as failure:
        bench.stop("W6: %s" % failure)


def compilers(bench):
    said = subprocess.run(bench.cc.split() + ["--version"], capture_output=True, text=True).stdout
    return {bench.cc: said.split("\n")[0]}


def row(case, what, contender, unit, values, **more):
    return {"workload": "W6", "case": "%s, %s" % (case, what), "contender": contender, "language": "C", "unit": unit,
            "median": statistics.median(values), "min": min(values), "max": max(values), "rounds": len(values), "n": 1,
            "verified": True, **more}


def rows_of(name, case, program, bench):
    contenders = programs.contenders_of(program, case, bench.mallocs, bench.quick)
    programs.measure(contenders, program.passes[bench.quick], "W6, " + name)
    found = []
    sure = {"hash": programs.same(contenders, name)}
    for c in contenders:
        if c.first:
            found.append(row(name, "first", c.name, "ns", c.first, **sure))
        found.append(row(name, "again", c.name, "ns", c.again, wall=statistics.median(c.wall), **sure,
                         parts=dict(zip(c.names, map(c.part, c.names)))))
        found.append(row(name, "peak", c.name, "MiB", [kib / 1024 for kib in c.peaks]))
        if c.faults_first:
            found.append(row(name, "first faults", c.name, "faults", c.faults_first))
        found.append(row(name, "again faults", c.name, "faults", c.faults_again))
    requests, served = programs.share_of(case)
    share = 100 * served / requests
    found.append(dict(row(name, "served", "toft", "%", [share], allocs=requests), verified=share >= LEAST_SHARE))
    return found


def rows(bench):
    found = []
    try:
        for program in bench.w6:
            for case in program.cases:
                name = program.name if len(program.cases) == 1 else "%s %s" % (program.name, case.name)
                print("bench: W6, " + name, file=sys.stderr)
                found += rows_of(name, case, program, bench)
    except programs.Failure as failure:
        bench.stop("W6: %s" % failure)
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
        """As the program comes: one way to run it must meet all marks."""
        return next(((r["median"], c) for c, r in self.of(case).items() if ours(c)), (None, None))


def here(_):
    return []


WHAT = ["first", "again", "peak", "first faults", "again faults"]


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


def all_marks(rows_):
    """(mark, what was measured, met)"""
    t = Table(rows_)

    def against(case, limit):
        (value, who), (best, rival) = t.first_of_ours(case), t.best_rival(case)
        met = value is not None and best is not None and value <= limit * best
        unit = t.row[case, who]["unit"] if who else ""
        return "%s: %s %s / %s %s = %s" % (case.rpartition(", ")[2], who, plain(value, unit), rival, plain(best, unit),
                                           ratio(value, best)), met

    for name in t.names:
        for mark, what, limit in (("no slower than the best malloc (3 %)", ("first", "again"), 1.03),
                                  ("no larger than the best malloc (3 %)", ("peak",), 1.03),
                                  ("page faults of a new process won by %s x" % CLEARLY, ("first faults",), 1 / CLEARLY)):
            told = [against(case, limit) for case in ("%s, %s" % (name, w) for w in what) if t.of(case)]
            if told:
                yield "%s: %s" % (name, mark), "; ".join(said for said, _ in told), all(met for _, met in told)
        share = t.row.get((name + ", served", "toft"))
        if share:
            yield ("%s: at least %d %% of all requests served from Toft's blocks" % (name, LEAST_SHARE),
                   "%.3f %%" % share["median"], share["median"] >= LEAST_SHARE)


GROUP = None


def standings(rows_):
    t = Table(rows_)
    for (case, c), r in t.row.items():
        best, rival = t.best_rival(case)
        if ours(c) and r["median"] and best:  # no faults at all cannot be compared
            yield Standing("", case, c, r["median"], rival, best, r["unit"])


def table(head, rows_):
    t = Table(rows_)
    print("Processor's time of a round, in a new process and in one that goes on; the most memory that the process held (its")
    print("library, its script and its input are part of it); page faults of a round\n")
    for name in t.names:
        print_name(t, name)
    print("Marks")
    for mark, measured, met in all_marks(rows_):
        print("  %-6s  %s: %s" % ("met" if met else "MISSED", mark, measured))
    print("\n%s; %s; commit %s" % (head["machine"], head["os"], head["commit"]))
    for what in (head["compilers"], head["mallocs"]):
        print("; ".join("%s: %s" % pair for pair in what.items()))
    for who, why in head["left_out"].items():
        print("left out: %s: %s" % (who, why))
    print("command: %s\n" % head["command"])


def history(rows_):
    """What one line of history keeps: times; ours, and the best rival."""
    t = Table(rows_)
    kept = {}
    for case in t.cases:
        best, rival = t.best_rival(case)
        if rival and next(iter(t.of(case).values()))["unit"] == "ns":
            kept[case] = {c: r["median"] for c, r in t.of(case).items() if ours(c)}
            kept[case][rival] = best
    return {"unit": "ns", "medians": kept}
