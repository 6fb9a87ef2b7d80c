"""The rows of a workload, the standing of Toft's contenders in them, and the one format in which all workloads are printed and recorded.

A row is {"workload", "case", "contender", "language", "unit", "median", "min", "max", "rounds", "n", "verified"}, with the key of
its group where a workload has groups, "aside" if it is compared with nothing, and "values", those of the rounds, if the
contenders of a case took turns in each round: the ratio of two of them then has an interval. Names of Toft's contenders begin with
"toft", those of floors with "floor". A module of a workload has TITLE, GROUP, the key of its groups or None, and may have

    EXTRAS            further fields of rows, which are printed, and their units
    RECORDED          how many groups history.jsonl gets, the first ones; all by default
    kinds(t, case)    the contenders of Toft that are compared in a case; all by default
    may_rival(c, r)   whether the contender c is compared with the rival r; by default each is
    all_marks(tables) the marks of the workload, as triples of a mark, the measured value, and whether it is met

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import importlib.util
import math
import os
import statistics
import typing

from figures import number, plain, ratio, verdict

NAMES = ["W%d" % n for n in range(1, 8)]
ABREAST = 7  # contenders in a table of all
LOSSES = 8  # at most, in a mark


def load(name):
    """The module of a workload; None: there is none."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name.lower(), "workload.py")
    if not os.path.exists(path):
        return None
    spec = importlib.util.spec_from_file_location(name.lower(), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Standing(typing.NamedTuple):
    """A contender of Toft in a row, and the fastest of the others there."""
    group: str
    case: str
    ours: str
    value: float
    rival: str
    best: float
    unit: str = "ns"
    interval: typing.Optional[tuple] = None
    paired: typing.Optional[float] = None

    @property
    def share(self):
        """Toft's value in parts of the rival's: the median of the ratios of rounds, if there are such, else the ratio of medians."""
        return self.paired or self.value / self.best

    @property
    def verdict(self):
        """Level too if the interval contains 1."""
        level = self.interval and self.interval[0] <= 1 <= self.interval[1]
        return "level" if level else verdict(self.share, 1)

    @property
    def ratio(self):
        """With the interval, if there is one."""
        return number(self.share) + (" (%s to %s)" % tuple(map(number, self.interval)) if self.interval else "")


def ratios_of(row, other):
    """The ratios of two rows in each round, if their contenders took turns; sorted."""
    a, b = row.get("values", ()), other.get("values", ())
    return sorted(x / y for x, y in zip(a, b)) if len(a) == len(b) and all(b) else []


def interval_of(ratios):
    """The interval of confidence (95 %) of their median; None if there are fewer than six."""
    n, outside, k = len(ratios), 0.0, 0
    while n > 5 and outside + math.comb(n, k) / 2**n <= 0.025:
        outside += math.comb(n, k) / 2**n
        k += 1
    return (ratios[k - 1], ratios[n - k]) if k else None


def is_ours(contender):
    return contender.startswith("toft")


def is_floor(contender):
    return contender.startswith("floor")


def is_rival(contender):
    return not is_ours(contender) and not is_floor(contender)


class Table:
    """The rows of one group; "" is the group of a workload without groups."""

    def __init__(self, rows, group="", module=None):
        self.group, self.all, self.module = group, rows, module
        self.row = {(r["case"], r["contender"]): r for r in rows if r["median"] is not None and not r.get("aside")}
        self.cases = list(dict.fromkeys(case for case, _ in self.row))
        self.contenders = list(dict.fromkeys(contender for _, contender in self.row))

    def of(self, case):
        return {c: self.row[case, c] for c in self.contenders if (case, c) in self.row}

    def median(self, case, contender):
        row = self.row.get((case, contender))
        return row and row["median"]

    def best(self, case, wanted=is_rival):
        """(median, contender) of the fastest that is wanted; (None, None) without one."""
        return min(((r["median"], c) for c, r in self.of(case).items() if wanted(c)), default=(None, None))

    def kinds(self, case):
        """The contenders of Toft that are compared."""
        return self.module.kinds(self, case) if hasattr(self.module, "kinds") else [c for c in self.of(case) if is_ours(c)]

    def standings(self):
        """Each compared contender of Toft, and the rival against which it takes the largest share."""
        may_rival = getattr(self.module, "may_rival", lambda contender, rival: True)
        for case in self.cases:
            of, unit = self.of(case), self.unit(case)
            rivals = {c: r for c, r in of.items() if is_rival(c) and r["median"]}  # zero page faults cannot be compared
            for c in self.kinds(case):
                found = [Standing(self.group, case, c, of[c]["median"], other, row["median"], unit, interval_of(ratios),
                                  statistics.median(ratios) if ratios else None)
                         for other, row in rivals.items() if may_rival(c, other) for ratios in [ratios_of(of[c], row)]]
                if found and of[c]["median"]:
                    yield max(found, key=lambda s: s.share)

    def unit(self, case):
        return next(iter(self.of(case).values()))["unit"]


def tables_of(module, rows):
    groups = dict.fromkeys(r[module.GROUP] if module.GROUP else "" for r in rows)
    return [Table([r for r in rows if not module.GROUP or r[module.GROUP] == g], g, module) for g in groups]


def standings(module, rows):
    return [s for t in tables_of(module, rows) for s in t.standings()]


def marks(module, rows):
    return list(module.all_marks(tables_of(module, rows)))


# ---- marks: (mark, measured value, whether it is met) ----

def against(mark, value, other, limit, unit="ns"):
    return mark, "%s / %s = %s" % (plain(value, unit), plain(other, unit), ratio(value, other)), bool(
        value and other) and value <= limit * other


def ahead(mark, compared):
    """The mark that none of the standings is lost."""
    compared = list(compared)
    lost = ["%s (%s, %s)" % (s.case if not s.group else "%s: %s" % (s.group, s.case), s.rival, s.ratio)
            for s in compared if s.verdict == "LOST"]
    few = ": " + "; ".join(lost) if 0 < len(lost) <= LOSSES else ""
    return mark, "lost %d of %d%s" % (len(lost), len(compared), few), bool(compared) and not lost


# ---- printing ----

def print_columns(title, heads, lines, left):
    """Lines of cells below their heads; the first `left` columns are names."""
    if not lines:
        return
    print(title)
    widths = [max(len(line[i]) for line in [heads] + lines) for i in range(len(heads))]
    for line in [heads] + lines:
        cells = [cell.ljust(w) if i < left else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths))]
        print(("  " + "  ".join(cells)).rstrip())
    print()


def print_standings(t):
    lines = []
    for s in t.standings():
        floor, name = t.best(s.case, is_floor)
        lines.append([s.case, s.ours, s.rival, name or "", plain(s.value, s.unit), plain(s.best, s.unit), s.ratio,
                      s.verdict, plain(floor, s.unit), ratio(s.value, floor)])
    print_columns("%sagainst the fastest rival and the floor; medians" % (t.group + ": " if t.group else ""),
                  ["row", "Toft", "rival", "floor", "Toft", "rival", "ratio", "", "floor", "ratio"], lines, 4)


def print_all(t):
    for k in range(0, len(t.contenders), ABREAST):
        some = t.contenders[k:k + ABREAST]
        lines = [[case] + [plain(t.median(case, c), t.unit(case)) for c in some]
                 for case in t.cases if any((case, c) in t.row for c in some)]
        print_columns("Every contender; medians", ["row"] + some, lines, 1)


def print_extras(t):
    """What rows have beside their median, and the rows that are compared with nothing."""
    units = {name: unit for name, unit in getattr(t.module, "EXTRAS", {}).items() if any(name in r for r in t.all)}
    lines = [[r["case"], r["contender"], plain(r["median"], r["unit"])] + [plain(r.get(name), unit) for name, unit in units.items()]
             for r in t.all if r.get("aside") or any(r.get(name) is not None for name in units)]
    print_columns("Further figures", ["row", "contender", "median"] + list(units), lines, 2)


def print_workload(module, head, rows, brief=False):
    """`brief`: standings alone."""
    for t in tables_of(module, rows):
        print_standings(t)
        if not brief:
            print_all(t)
            print_extras(t)
    if not brief:
        print("Marks")
        for mark, measured, met in marks(module, rows):
            print("  %-6s  %s: %s" % ("met" if met else "MISSED", mark, measured))
    print("\n%s; %s; commit %s" % (head["machine"], head["os"], head["commit"]))
    versions = {r["contender"]: r["version"] for r in rows if "version" in r}
    for what in head["compilers"], head["mallocs"], versions:
        if what:
            print("; ".join("%s: %s" % pair for pair in what.items()))
    for who, why in head["left_out"].items():
        print("left out: %s: %s" % (who, why))
    print("command: %s\n" % head["command"])


# ---- recording ----

def history(module, rows):
    """A line of history.jsonl: medians of Toft, the floors, and the fastest rival of each case; ratios of the default contender of Toft
    where they are of pairs."""
    medians, ratios = {}, {}
    for t in tables_of(module, rows)[:getattr(module, "RECORDED", None)]:
        ratios.update({s.case: round(s.share, 4) for s in reversed(list(t.standings())) if s.paired and s.unit == "ns"})
        for case in t.cases:
            best, rival = t.best(case)
            of = {c: t.median(case, c) for c in t.kinds(case) + [c for c in t.of(case) if is_floor(c)]}
            if rival:
                of[rival] = best
            if t.unit(case) == "ns":
                medians["%s: %s" % (t.group, case) if module.GROUP == "language" else case] = of
    return {"unit": "ns", "medians": medians, **({"ratios": ratios} if ratios else {})}
